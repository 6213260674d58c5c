#include "store/recording_header.h"

#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "core/units.h"
#include "store/big_endian.h"
#include "store/format.h"
#include "store/quoted.h"
#include "store/recording_wal.h"

namespace highwater::store {
namespace fs = std::filesystem;
namespace {

// Offsets in the file's header: https://www.sqlite.org/fileformat.html
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kHeaderBytes = 100;
constexpr std::size_t kPageSizeAt = 16, kReadVersionAt = 19, kPageCountAt = 28, kVersionAt = 60,
                      kApplicationIdAt = 68;
/// The size of the writer's pages. The first one holds the schema.
constexpr std::size_t kFirstPageBytes = 4096;

Error malformed(std::string message) {
  return {ErrorCode::kMalformed, std::move(message)};
}

Error notARecording(const fs::path& path, const std::string& why) {
  return malformed(quoted(path) + " is not a Highwater recording: " + why);
}

Error damaged(const fs::path& path, const std::string& why) {
  return malformed(quoted(path) + " is damaged: " + why + std::string(kNothingRead));
}

Error newerVersion(const fs::path& path, std::int64_t version) {
  return {ErrorCode::kVersionMismatch, quoted(path) + " has format " + std::to_string(version) +
                                           ", this program reads formats up to " +
                                           std::to_string(kFormatVersion) +
                                           "; open it with a newer Highwater"};
}

Result<void> checkKind(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    if (error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory) {
      return Error{ErrorCode::kNoPermission,
                   "cannot open " + quoted(path) + ": " + error.message()};
    }
    return Error{ErrorCode::kNotFound, quoted(path) + " does not exist"};
  }
  if (fs::is_directory(status)) return notARecording(path, "it is a folder");
  if (!fs::is_regular_file(status)) return notARecording(path, "it is not a regular file");
  if (::access(path.c_str(), R_OK) != 0) {
    return Error{ErrorCode::kNoPermission, "no permission to read " + quoted(path)};
  }
  return {};
}

std::string firstPage(const fs::path& path) {
  std::string bytes(kFirstPageBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

/// True by the application id in the header or, if that is overwritten, by the schema behind it.
bool isOurs(std::string_view page) {
  const bool marked = page.size() >= kApplicationIdAt + 4 &&
                      bigEndian(page, kApplicationIdAt) == std::uint32_t{kApplicationId};
  return marked || page.find(kCreateBatches) != std::string_view::npos;
}

/// The size of the file by its header; 0 if the header is truncated.
std::uint64_t promisedBytes(std::string_view page) {
  if (page.size() < kPageCountAt + 4) return 0;
  std::uint64_t pageSize = bigEndian(page, kPageSizeAt, 2);
  if (pageSize == 1) pageSize = 65536;
  return pageSize * bigEndian(page, kPageCountAt);
}

std::string cutShort(std::uint64_t there, std::uint64_t promised) {
  const std::string is = formatBytes(there), was = formatBytes(promised);
  const std::string sizes =
      is == was ? std::to_string(there) + " of " + std::to_string(promised) + " bytes"
                : is + " of " + was;
  return "the file is truncated (" + sizes + ')';
}

}  // namespace

bool mayBeRecording(const fs::path& path) {
  const std::string page = firstPage(path);
  const bool cutShort =
      page.size() < kApplicationIdAt + 4 && kMagic.starts_with(page.substr(0, kMagic.size()));
  return page.empty() || cutShort || isOurs(page);
}

Result<RecordingHeader> readHeader(const fs::path& path) {
  if (auto kind = checkKind(path); !kind) return kind.error();
  const std::string page = firstPage(path);
  if (page.empty()) {
    return malformed(quoted(path) + " is empty: it holds no recording, or all of it is lost");
  }
  const bool ours = isOurs(page);
  const bool begins = page.starts_with(kMagic);
  if (!ours && page.size() < kApplicationIdAt + 4 && kMagic.starts_with(page.substr(0, 16))) {
    return malformed(quoted(path) + " is truncated: " + std::to_string(page.size()) +
                     " bytes are too few to tell whether it was a recording");
  }
  if (!ours && !begins) return notARecording(path, "it is of another kind");
  if (!ours) return notARecording(path, "it is a database of another program");
  if (page.size() < kHeaderBytes) {
    return damaged(path, cutShort(page.size(), promisedBytes(page)));
  }
  if (!begins || bigEndian(page, kApplicationIdAt) != std::uint32_t{kApplicationId}) {
    return damaged(path, "its header is overwritten");
  }
  const auto version = static_cast<std::int32_t>(bigEndian(page, kVersionAt));
  if (version > kFormatVersion) return newerVersion(path, version);
  if (version < 1) {
    return damaged(path, "its header says format " + std::to_string(version) + ", there is 1 to " +
                             std::to_string(kFormatVersion));
  }
  return RecordingHeader{page[kReadVersionAt] == 2};
}

std::string missingEnd(const fs::path& path) {
  std::error_code error;
  const std::uint64_t there = fs::file_size(path, error);
  if (error || hasWal(path)) return {};
  const std::uint64_t promised = promisedBytes(firstPage(path));
  return there < promised ? cutShort(there, promised) : std::string();
}

Error damagedRecording(const fs::path& path, const std::string& message) {
  const std::string missing = missingEnd(path);
  return damaged(path, missing.empty() ? message : missing);
}

}  // namespace highwater::store

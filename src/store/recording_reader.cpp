#include "store/recording_reader.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "store/batch_codec.h"
#include "store/database.h"
#include "store/format.h"
#include "store/recording_file.h"

namespace highwater::store {
namespace fs = std::filesystem;
namespace {

std::string quoted(const fs::path& path) {
  return '"' + path.string() + '"';
}

Error notARecording(const fs::path& path, const std::string& why) {
  return {ErrorCode::kMalformed, quoted(path) + " is not a Highwater recording: " + why};
}

std::uint32_t bigEndian(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Error newerVersion(const fs::path& path, std::int64_t version) {
  return {ErrorCode::kVersionMismatch, quoted(path) + " has format " + std::to_string(version) +
                                           ", this program reads formats up to " +
                                           std::to_string(kFormatVersion) +
                                           "; open it with a newer Highwater"};
}

/// What can be said before SQLite sees the file. Offsets: https://www.sqlite.org/fileformat.html
Result<void> checkHeader(const fs::path& path) {
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
  std::array<char, 100> header{};
  std::ifstream file(path, std::ios::binary);
  file.read(header.data(), header.size());
  if (file.gcount() == 0) return notARecording(path, "it is empty");
  if (file.gcount() < static_cast<std::streamsize>(header.size()) ||
      std::memcmp(header.data(), "SQLite format 3", 16) != 0) {
    return notARecording(path, "it is of another kind");
  }
  if (bigEndian(&header[68]) != static_cast<std::uint32_t>(kApplicationId)) {
    return notARecording(path, "it is a database of another program");
  }
  const auto version = static_cast<std::int32_t>(bigEndian(&header[60]));
  if (version > kFormatVersion) return newerVersion(path, version);
  if (version < 1) return notARecording(path, "its format has no version");
  return {};
}

/// Opens and reads the schema, which is where SQLite first looks at the file.
Result<Database> openHardened(const fs::path& path, bool immutable) {
  Result<Database> database = Database::open(path, SQLITE_OPEN_READONLY, immutable);
  if (!database) return database;
  harden(database->handle());
  sqlite3_busy_timeout(database->handle(), 2000);
  if (auto done = database->execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0"); !done) {
    return done.error();
  }
  const Result<std::string> schema =
      database->value("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'batches'");
  if (!schema) return schema.error();
  // Nothing but our own table: no view, no virtual table, no computed column.
  if (*schema != kCreateBatches) {
    return Error{ErrorCode::kMalformed, "its tables are not those of a recording"};
  }
  return database;
}

}  // namespace

struct RecordingReader::Impl {
  Impl(fs::path file, Database opened) : path(std::move(file)), database(std::move(opened)) {}

  [[nodiscard]] Error damaged(std::uint64_t frames, const Error& error) const {
    return {error.code, quoted(path) + " is damaged after " + std::to_string(frames) +
                            " frames: " + error.message};
  }

  fs::path path;
  Database database;
};

Result<RecordingReader> RecordingReader::open(const fs::path& path) {
  if (auto header = checkHeader(path); !header) return header.error();
  Result<Database> database = openHardened(path, false);
  // The WAL that a killed run left needs a -shm beside it, which a read-only folder does not allow:
  // then what was checkpointed is what can be read.
  if (!database && database.error().code != ErrorCode::kMalformed) {
    database = openHardened(path, true);
  }
  if (!database) {
    const Error& error = database.error();
    if (error.code == ErrorCode::kMalformed) return notARecording(path, error.message);
    return Error{error.code, "cannot open " + quoted(path) + ": " + error.message};
  }
  return RecordingReader(std::make_unique<Impl>(path, std::move(*database)));
}

RecordingReader::RecordingReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;
RecordingReader& RecordingReader::operator=(RecordingReader&&) noexcept = default;
RecordingReader::~RecordingReader() = default;

Result<void> RecordingReader::forEachFrame(
    const std::function<Result<void>(std::span<const std::uint8_t>)>& visit) const {
  Result<Statement> rows =
      impl_->database.prepare("SELECT frames, raw_bytes, data FROM batches ORDER BY id");
  if (!rows) return impl_->damaged(0, rows.error());
  BatchUnpacker unpacker;
  std::vector<std::uint8_t> aligned;
  std::uint64_t frames = 0;
  for (;;) {
    const Result<bool> row = rows->step();
    if (!row) return impl_->damaged(frames, row.error());
    if (!*row) return {};
    const auto batch = unpacker.unpack(rows->blob(2), rows->integer(1));
    if (!batch) return impl_->damaged(frames, batch.error());
    std::int64_t framesOfBatch = 0;
    for (std::span<const std::uint8_t> rest = *batch; !rest.empty(); ++framesOfBatch) {
      const std::size_t size = frameSize(rest);
      if (size == 0) {
        return impl_->damaged(frames, {ErrorCode::kMalformed, "a frame's size is out of limits"});
      }
      aligned.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
      if (auto done = visit(aligned); !done) return done;
      ++frames;
      rest = rest.subspan(size);
    }
    if (framesOfBatch != rows->integer(0)) {
      return impl_->damaged(frames,
                            {ErrorCode::kMalformed, "a batch has another number of frames"});
    }
  }
}

std::uint64_t RecordingReader::fileBytes() const {
  return sizeWithWal(impl_->path);
}

}  // namespace highwater::store

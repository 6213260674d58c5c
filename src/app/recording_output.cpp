#include "app/recording_output.h"

#include <unistd.h>

#include "wire/codec.h"

namespace highwater::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostShownBytes = 200;
// What a worker sends while it starts is a few kilobytes.
constexpr std::size_t kMostKeptBytes = std::size_t{64} << 20;

}  // namespace

Result<void> checkOutput(const fs::path& path, bool force) {
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (path.filename().empty()) {
    return usageError("\"" + path.string() + "\" names no file; give -o a file's name");
  }
  if (!fs::is_directory(folder, ignored)) {
    return Error{ErrorCode::kNotFound,
                 "there is no folder " + folder.string() + "; make it, or name another output"};
  }
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (error && status.type() != fs::file_type::not_found) {
    return failure(path.string().substr(0, kMostShownBytes) +
                   " cannot be written: " + error.message());
  }
  if (fs::is_directory(path, ignored)) {
    return Error{ErrorCode::kExists, path.string() + " is a folder; name a file"};
  }
  if (fs::exists(status)) {
    if (!force) {
      return Error{ErrorCode::kExists, path.string() +
                                           " exists; give --force to overwrite it, or another "
                                           "name"};
    }
    if (!fs::is_regular_file(path, ignored)) {
      return Error{ErrorCode::kExists,
                   path.string() + " is not a regular file and is not overwritten"};
    }
    if (::access(path.c_str(), W_OK) != 0) {
      return Error{ErrorCode::kNoPermission, path.string() + " may not be written"};
    }
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return Error{ErrorCode::kNoPermission,
                 "the folder " + folder.string() + " may not be written; name another output"};
  }
  return {};
}

RecordingOutput::RecordingOutput(fs::path path, bool force)
    : path_(std::move(path)), force_(force) {}

void RecordingOutput::take(std::span<const std::uint8_t> frame, const Message& message) {
  if (writer_) {
    writer_->take(frame, message);
    return;
  }
  if (keptBytes_ + frame.size() > kMostKeptBytes) {
    overflowed_ = true;
    return;
  }
  keptBytes_ += frame.size();
  kept_.emplace_back(frame.begin(), frame.end());
}

Result<void> RecordingOutput::begin() {
  if (overflowed_) return failure("the worker sent more than 64 MiB before its training began");
  auto writer = store::RecordingWriter::create(path_, {.overwrite = force_});
  if (!writer) return writer.error();
  writer_ = std::move(*writer);
  for (const auto& frame : kept_) {
    auto message = wire::decode(frame);
    if (message) writer_->take(frame, *message);
  }
  kept_.clear();
  return {};
}

std::string RecordingOutput::errorText() const {
  return writer_ ? writer_->errorText() : "";
}

Result<void> RecordingOutput::close() {
  return writer_ ? writer_->close() : Result<void>();
}

std::uint64_t RecordingOutput::fileBytes() const {
  return writer_ ? writer_->bytesWritten() : 0;
}

}  // namespace highwater::app

#include "run/recording_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <QDateTime>
#include <cerrno>
#include <string>
#include <system_error>

#include "core/option_values.h"
#include "store/recording_file.h"
#include "store/writer_lock.h"
#include "wire/codec.h"

namespace highwater::run {
namespace {

namespace fs = std::filesystem;

// What a worker sends while it starts is a few kilobytes.
constexpr std::size_t kMostKeptBytes = std::size_t{64} << 20;

/// Tries to create a file: the permissions of /proc and of a read-only file system say nothing.
Result<void> checkFolder(const fs::path& folder) {
  const fs::path probe = folder / (".highwater." + std::to_string(::getpid()) + ".probe");
  const int descriptor = ::open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  const int failed = descriptor < 0 ? errno : 0;
  if (descriptor >= 0) {
    ::close(descriptor);
    ::unlink(probe.c_str());
  }
  if (failed == 0 || failed == EEXIST) return {};
  const std::string name = "the folder " + folder.string();
  if (failed == EACCES || failed == EPERM || failed == EROFS) {
    return Error{ErrorCode::kNoPermission, name + " may not be written; name another output"};
  }
  // The folder exists: "no such file" is how /proc refuses.
  const std::string why =
      failed == ENOENT ? "" : " (" + std::generic_category().message(failed) + ')';
  return failure(name + " takes no files" + why + "; name another output");
}

}  // namespace

Result<void> checkOutput(const fs::path& path, bool force) {
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (path.filename().empty()) {
    return usageError("\"" + path.string() + "\" names no file; end it with a file's name");
  }
  if (!fs::is_directory(folder, ignored)) {
    return Error{ErrorCode::kNotFound,
                 "there is no folder " + folder.string() + "; make it, or name another output"};
  }
  if (auto fits = store::checkNameLength(path); !fits) return fits;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (error && status.type() != fs::file_type::not_found) {
    return failure(shortened(path.string()) + " cannot be written: " + error.message());
  }
  if (fs::is_directory(path, ignored)) {
    return Error{ErrorCode::kExists, path.string() + " is a folder; name a file"};
  }
  if (fs::exists(status)) {
    if (store::isBeingWritten(path)) return store::beingWritten(path);
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
  return checkFolder(folder);
}

Result<void> checkReplaced(const fs::path& path, bool overwrites, std::string_view kind,
                           bool (*isOfKind)(const fs::path&)) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  // A saved file would take a device's place.
  if (!fs::is_regular_file(path, ignored)) {
    return failure(path.string() + " is not a regular file; name another output");
  }
  if (!fs::is_empty(path, ignored) && !isOfKind(path)) {
    return Error{ErrorCode::kExists, path.string() + " exists and is not a " + std::string(kind) +
                                         ", so it is not overwritten; name another output"};
  }
  if (overwrites) return {};
  return Error{ErrorCode::kExists,
               path.string() + " exists; give --force to overwrite it, or another name"};
}

std::string newOutputName(const std::string& what) {
  const std::string time =
      QDateTime::currentDateTime().toString(QStringLiteral("-yyyyMMdd-HHmmss")).toStdString();
  const std::string stem = what + time;
  std::string name = stem + ".highwater";
  std::error_code ignored;
  for (int i = 2; fs::exists(fs::symlink_status(name, ignored)); ++i) {
    name = stem + '-' + std::to_string(i) + ".highwater";
  }
  return name;
}

std::string continuationName(const fs::path& output) {
  fs::path name;
  std::error_code ignored;
  int i = 2;
  do {
    name = output;
    name.replace_filename(output.stem().string() + '-' + std::to_string(i++) +
                          output.extension().string());
  } while (fs::exists(fs::symlink_status(name, ignored)));
  return name.string();
}

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
  auto writer = store::RecordingWriter::create(target_.path, {.overwrite = target_.overwrites});
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

void RecordingOutput::discard() {
  if (writer_) writer_->discard();
  writer_.reset();
}

std::uint64_t RecordingOutput::fileBytes() const {
  return writer_ ? writer_->bytesWritten() : 0;
}

}  // namespace highwater::run

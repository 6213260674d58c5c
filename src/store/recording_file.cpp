#include "store/recording_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

namespace highwater::store {
namespace fs = std::filesystem;
namespace {

fs::path withSuffix(const fs::path& path, const char* suffix) {
  fs::path result = path;
  result += suffix;
  return result;
}

std::string quoted(const fs::path& path) {
  return '"' + path.string() + '"';
}

Error createError(const fs::path& path, int error) {
  if (error == EACCES || error == EPERM || error == EROFS) {
    return {ErrorCode::kNoPermission, "no permission to write " + quoted(path)};
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return failure("cannot create " + quoted(path) + ": its folder does not exist");
  }
  // /proc and its kind answer so.
  if (error == ENOENT) {
    return failure("cannot create " + quoted(path) + ": its folder takes no files");
  }
  return failure("cannot create " + quoted(path) + ": " + std::generic_category().message(error));
}

/// 0, or errno.
int createEmpty(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno;
  ::close(descriptor);
  return 0;
}

/// Of the file that createEmpty() made. One that may not be locked does not stay, unless somebody
/// else has begun to write it meanwhile.
Result<WriterLock> lockEmpty(const fs::path& path) {
  auto lock = WriterLock::take(path);
  std::error_code ignored;
  if (!lock && lock.error().code != ErrorCode::kExists && fs::file_size(path, ignored) == 0) {
    fs::remove(path, ignored);
  }
  return lock;
}

}  // namespace

void removeCompanions(const fs::path& database) {
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    std::error_code ignored;
    fs::remove(withSuffix(database, suffix), ignored);
  }
}

fs::path walOf(const fs::path& database) {
  return withSuffix(database, "-wal");
}

std::uint64_t sizeWithWal(const fs::path& database) {
  std::uint64_t bytes = 0;
  for (const fs::path& part : {database, walOf(database)}) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(part, error);
    if (!error) bytes += size;
  }
  return bytes;
}

Result<RecordingFile> RecordingFile::create(const fs::path& path, bool overwrite) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    return failure(quoted(path) + " is a folder; give the name of a file in it");
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return failure(quoted(path) + " is not a regular file; a recording cannot be written to it");
  }
  if (!fs::exists(status)) {
    // O_EXCL: of two writers that ask for one name, the second is refused.
    const int failed = createEmpty(path);
    if (failed == 0) return createNew(path);
    if (failed != EEXIST) return createError(path, failed);
  }
  if (!overwrite) {
    return Error{
        ErrorCode::kExists,
        quoted(path) + " exists already; give another name, or allow it to be overwritten"};
  }
  return createBeside(path);
}

/// The empty file is there already.
Result<RecordingFile> RecordingFile::createNew(const fs::path& path) {
  auto lock = lockEmpty(path);
  if (!lock) return lock.error();
  // Of a file that was deleted, or is being written without a name: none of it belongs to this one.
  removeCompanions(path);
  return RecordingFile(path, path, std::move(*lock), {});
}

Result<RecordingFile> RecordingFile::createBeside(const fs::path& path) {
  if (::access(path.c_str(), W_OK) != 0) return createError(path, errno);
  // Through a symbolic link, the file that it names is replaced, not the link.
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (error) return createError(path, error.value());
  auto oldLock = WriterLock::take(target);
  if (!oldLock) return oldLock.error();
  const fs::path beside = target.parent_path() / ('.' + target.filename().string() + '.' +
                                                  std::to_string(::getpid()) + ".new");
  fs::remove(beside, error);  // of an earlier process with our number
  if (const int failed = createEmpty(beside); failed != 0) return createError(target, failed);
  auto lock = lockEmpty(beside);
  if (!lock) return lock.error();
  return RecordingFile(target, beside, std::move(*lock), std::move(*oldLock));
}

Result<void> RecordingFile::moveIntoPlace() {
  if (inPlace()) return {};
  std::error_code error;
  const auto kept = [this](const std::string& why) {
    return failure("cannot replace " + quoted(target_) + ": " + why + "; the recording is " +
                   quoted(current_));
  };
  if (fs::exists(fs::symlink_status(target_, error)) && !oldLock_.isAt(target_)) {
    return kept("another file has come to that name meanwhile");
  }
  // Without the WAL beside it, SQLite would not find the end of the recording.
  const std::uintmax_t left = fs::file_size(walOf(current_), error);
  if (!error && left > 0) {
    return kept(quoted(walOf(current_)) + " could not be written into the recording");
  }
  // SQLite would replay an old WAL into the new file.
  removeCompanions(target_);
  fs::rename(current_, target_, error);
  if (error) return kept(error.message());
  current_ = target_;
  oldLock_.release();
  return {};
}

bool RecordingFile::isReplaced() const {
  std::error_code ignored;
  return !lock_.isAt(current_) && fs::exists(fs::symlink_status(current_, ignored));
}

Result<void> RecordingFile::checkPlace() const {
  if (lock_.isAt(current_)) return {};
  const std::string other = isReplaced() ? ", and another file has its name now" : "";
  const std::string what = lock_.isDeleted()
                               ? "deleted while it was written" + other + ": what it held is lost"
                               : "moved while it was written" + other + ": it has another name now";
  return Error{ErrorCode::kNotFound, "the recording " + quoted(current_) + " was " + what};
}

void RecordingFile::remove() const {
  if (!lock_.isAt(current_)) return;
  std::error_code ignored;
  fs::remove(current_, ignored);
  removeCompanions(current_);
}

void RecordingFile::release() {
  lock_.release();
  oldLock_.release();
}

}  // namespace highwater::store

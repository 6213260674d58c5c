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
  if (error == ENOENT || error == ENOTDIR) {
    return failure("cannot create " + quoted(path) + ": its folder does not exist");
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

}  // namespace

void removeCompanions(const fs::path& database) {
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    std::error_code ignored;
    fs::remove(withSuffix(database, suffix), ignored);
  }
}

std::uint64_t sizeWithWal(const fs::path& database) {
  std::uint64_t bytes = 0;
  for (const fs::path& part : {database, withSuffix(database, "-wal")}) {
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
    if (failed == 0) return RecordingFile(path, path);
    if (failed != EEXIST) return createError(path, failed);
  }
  if (!overwrite) {
    return Error{
        ErrorCode::kExists,
        quoted(path) + " exists already; give another name, or allow it to be overwritten"};
  }
  if (::access(path.c_str(), W_OK) != 0) return createError(path, errno);
  // Through a symbolic link, the file that it names is replaced, not the link.
  const fs::path target = fs::canonical(path, error);
  if (error) return createError(path, error.value());
  const fs::path beside = target.parent_path() / ('.' + target.filename().string() + '.' +
                                                  std::to_string(::getpid()) + ".new");
  fs::remove(beside, error);  // of an earlier process with our number
  if (const int failed = createEmpty(beside); failed != 0) return createError(target, failed);
  return RecordingFile(target, beside);
}

Result<void> RecordingFile::moveIntoPlace() {
  if (inPlace()) return {};
  // SQLite would replay an old WAL into the new file.
  removeCompanions(target_);
  std::error_code error;
  fs::rename(current_, target_, error);
  if (error) {
    return failure("cannot replace " + quoted(target_) + ": " + error.message() +
                   "; the recording is " + quoted(current_));
  }
  current_ = target_;
  return {};
}

void RecordingFile::remove() const {
  std::error_code ignored;
  fs::remove(current_, ignored);
  removeCompanions(current_);
}

}  // namespace highwater::store

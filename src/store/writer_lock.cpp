#include "store/writer_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "store/quoted.h"

namespace highwater::store {
namespace fs = std::filesystem;
namespace {

// A lock of the open file where there is one: a lock of the process is dropped when the process
// closes any descriptor of the file.
#ifdef F_OFD_SETLK
constexpr int kSetLock = F_OFD_SETLK;
constexpr int kGetLock = F_OFD_GETLK;
#else
constexpr int kSetLock = F_SETLK;
constexpr int kGetLock = F_GETLK;
#endif

/// SQLite's locks are the 512 bytes from 1 GiB on. A lock may lie beyond the end of the file.
constexpr off_t kLockedByte = 0x4857'5243;

struct flock wholeClaim() {
  struct flock claim {};
  claim.l_type = F_WRLCK;
  claim.l_whence = SEEK_SET;
  claim.l_start = kLockedByte;
  claim.l_len = 1;
  return claim;
}

Error openError(const fs::path& path, int error) {
  const bool forbidden = error == EACCES || error == EPERM || error == EROFS;
  return {forbidden ? ErrorCode::kNoPermission : ErrorCode::kFailed,
          "cannot open \"" + path.string() + "\": " + std::generic_category().message(error)};
}

}  // namespace

bool isBeingWritten(const fs::path& path) {
  // Opening a device or a FIFO can have effects.
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  struct flock claim = wholeClaim();
  const bool taken = ::fcntl(descriptor, kGetLock, &claim) == 0 && claim.l_type != F_UNLCK;
  ::close(descriptor);
  return taken;
}

Error beingWritten(const fs::path& path) {
  return {ErrorCode::kExists, quoted(path) +
                                  " is being written by a running process; wait for the end of "
                                  "its run, or give another name"};
}

WriterLock::WriterLock(WriterLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), remembered_(other.remembered_) {}

WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
  release();
  descriptor_ = std::exchange(other.descriptor_, -1);
  remembered_ = other.remembered_;
  return *this;
}

WriterLock::~WriterLock() {
  release();
}

Result<WriterLock> WriterLock::take(const fs::path& path) {
  WriterLock lock;
  lock.descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (lock.descriptor_ < 0) return openError(path, errno);
  struct flock claim = wholeClaim();
  const bool refused = ::fcntl(lock.descriptor_, kSetLock, &claim) != 0;
  if (refused && (errno == EAGAIN || errno == EACCES)) return beingWritten(path);
  // Its last holder may have put another file here.
  if (!lock.isAt(path)) return beingWritten(path);
  return lock;
}

void WriterLock::release() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

bool WriterLock::isAt(const fs::path& path) const {
  struct stat ours {
  }, named{};
  if (descriptor_ < 0 || ::fstat(descriptor_, &ours) != 0) return false;
  if (::stat(path.c_str(), &named) != 0) return errno != ENOENT && errno != ENOTDIR;
  return ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

bool WriterLock::isDeleted() const {
  struct stat ours {};
  return descriptor_ >= 0 && ::fstat(descriptor_, &ours) == 0 && ours.st_nlink == 0;
}

void WriterLock::remember() {
  remembered_ = stamp();
}

bool WriterLock::isTouched() const {
  return !(stamp() == remembered_);
}

WriterLock::Stamp WriterLock::stamp() const {
  struct stat ours {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &ours) != 0) return {};
#ifdef __APPLE__
  const timespec changed = ours.st_mtimespec;
#else
  const timespec changed = ours.st_mtim;
#endif
  return {changed.tv_sec, changed.tv_nsec, ours.st_size};
}

}  // namespace highwater::store

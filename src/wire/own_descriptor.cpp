#include "wire/own_descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace highwater::wire {
namespace {

// Above what programs close one by one to be tidy, and below the 1024 of select().
constexpr rlim_t kHighNumber = 512;

}  // namespace

OwnDescriptor::OwnDescriptor(int fd) noexcept {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return;
  fd_ = fd;
  isSocket_ = S_ISSOCK(status.st_mode);
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

bool OwnDescriptor::isOurs() const noexcept {
  const int error = errno;
  struct stat status {};
  const bool isOurs =
      fd_ >= 0 && ::fstat(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  errno = error;
  return isOurs;
}

void OwnDescriptor::shutDown() const noexcept {
  if (isSocket_ && isOurs()) ::shutdown(fd_, SHUT_RDWR);
}

void OwnDescriptor::close() const noexcept {
  if (isOurs()) ::close(fd_);
}

int moveToHighNumber(int fd) noexcept {
  rlimit limit{};
  rlim_t least = kHighNumber;
  // macOS gives a process 256 descriptors by default.
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) least = std::min(least, limit.rlim_cur / 4 * 3);
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(least));
  if (moved < 0) return fd;
  ::close(fd);
  return moved;
}

}  // namespace highwater::wire

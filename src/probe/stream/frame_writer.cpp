#include "probe/stream/frame_writer.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "wire/codec.h"

namespace highwater::probe {
namespace {

ssize_t writeSome(int fd, std::span<const std::uint8_t> bytes) {
#ifdef MSG_NOSIGNAL
  const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
#endif
  return ::write(fd, bytes.data(), bytes.size());
}

}  // namespace

FrameWriter::FrameWriter(int fd, std::function<void()> onHostGone)
    : fd_(fd), onHostGone_(std::move(onHostGone)) {
#ifdef SO_NOSIGPIPE
  const int on = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);  // fails on a pipe, which is fine
#endif
}

Result<void> FrameWriter::send(const Message& message) {
  if (hostGone()) return Error{ErrorCode::kEnded, "the host is gone"};
  const wire::FrameBytes frame = wire::encode(message);
  {
    const std::lock_guard lock(mutex_);
    if (hostGone()) return Error{ErrorCode::kEnded, "the host is gone"};
    if (writeAll(frame)) {
      written_.fetch_add(frame.size(), std::memory_order_relaxed);
      return {};
    }
    gone_.store(true, std::memory_order_release);
  }
  const std::string reason = std::strerror(errno);
  if (onHostGone_) onHostGone_();
  return Error{ErrorCode::kEnded, "the host is gone: " + reason};
}

bool FrameWriter::writeAll(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = writeSome(fd_, bytes);
    if (n >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Another process that shares the descriptor made it non-blocking, as ssh does.
      pollfd waiting{fd_, POLLOUT, 0};
      if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace highwater::probe

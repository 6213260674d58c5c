#include "probe/stream/frame_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "wire/codec.h"

namespace highwater::probe {
namespace {

using std::chrono::milliseconds;

// How often a write that waits looks whether it still should.
constexpr milliseconds kLookEvery{200};
constexpr milliseconds kBufferWait{10};

#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL;
#else
constexpr int kSendFlags = 0;
#endif

}  // namespace

FrameWriter::FrameWriter(int fd, OnEnd onEnd) : own_(fd), onEnd_(std::move(onEnd)) {
  // MSG_DONTWAIT would not do: macOS looks at the socket's own flag only.
  if (own_.isSocket()) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
#ifdef SO_NOSIGPIPE
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);  // fails on a pipe, which is fine
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
  noteEnd({});
  return Error{ErrorCode::kEnded, "the host is gone: " + reason};
}

void FrameWriter::breakOff(const std::string& why) {
  gone_.store(true, std::memory_order_release);
  noteEnd(why);
}

void FrameWriter::noteEnd(const std::string& why) {
  if (!told_.exchange(true) && onEnd_) onEnd_(why);
}

void FrameWriter::giveUpAt(std::chrono::steady_clock::time_point deadline) {
  deadline_.store(deadline, std::memory_order_relaxed);
}

ssize_t FrameWriter::writeSome(std::span<const std::uint8_t> bytes) const {
  if (!own_.isOurs()) {
    errno = EBADF;
    return -1;
  }
  return own_.isSocket() ? ::send(own_.get(), bytes.data(), bytes.size(), kSendFlags)
                         : ::write(own_.get(), bytes.data(), bytes.size());
}

bool FrameWriter::waitForReader() const {
  const auto left = std::chrono::ceil<milliseconds>(deadline_.load(std::memory_order_relaxed) -
                                                    std::chrono::steady_clock::now());
  if (left <= milliseconds{0} || hostGone()) {
    errno = ETIMEDOUT;
    return false;
  }
  pollfd waiting{own_.get(), POLLOUT, 0};
  const auto wait = static_cast<int>(std::min(left, kLookEvery).count());
  return ::poll(&waiting, 1, wait) >= 0 || errno == EINTR;
}

bool FrameWriter::writeAll(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = writeSome(bytes);
    if (n >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      // macOS had no memory for a buffer (sosend() in xnu): to poll() the socket is writable.
      if (errno == ENOBUFS) std::this_thread::sleep_for(kBufferWait);
      if (!waitForReader()) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace highwater::probe

#include "session/frame_channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <QPointer>
#include <cerrno>
#include <cstring>

#include "session/event_turn.h"
#include "wire/socket_buffers.h"

namespace highwater::session {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;

bool isRetry(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

FrameChannel::FrameChannel(UniqueFd socket, std::string token, Handler handler,
                           wire::StreamSource source, QObject* parent)
    : QObject(parent),
      socket_(std::move(socket)),
      handler_(std::move(handler)),
      validator_(source, std::move(token)),
      chunk_(kReadBytes) {
  const int fd = socket_.get();
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  readNotifier_ = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Read);
  writeNotifier_ = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Write);
  writeNotifier_->setEnabled(false);
  connect(readNotifier_.get(), &QSocketNotifier::activated, this, &FrameChannel::readSome);
  connect(writeNotifier_.get(), &QSocketNotifier::activated, this, &FrameChannel::writeSome);
}

FrameChannel::~FrameChannel() {
  close();
}

void FrameChannel::close() {
  if (readNotifier_) readNotifier_->setEnabled(false);
  if (writeNotifier_) writeNotifier_->setEnabled(false);
  socket_.reset();
}

Result<void> FrameChannel::send(const Message& message) {
  if (!isOpen() || !writable_) return Error{ErrorCode::kEnded, "the connection is closed"};
  const wire::FrameBytes frame = wire::encode(message);
  if (queue_.size() - written_ + frame.size() > kMaxQueuedBytes) {
    return failure("the worker does not read its commands");
  }
  queue_.insert(queue_.end(), frame.begin(), frame.end());
  writeSome();
  return {};
}

void FrameChannel::writeSome() {
  while (isOpen() && written_ < queue_.size()) {
    const ssize_t n =
        sendQuietly(socket_.get(), queue_.data() + written_, queue_.size() - written_);
    if (n > 0) {
      written_ += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && isRetry(errno)) {
      writeNotifier_->setEnabled(true);
      return;
    } else {
      // The worker has closed its end. Keep reading: it may have sent the reason before.
      writable_ = false;
      break;
    }
  }
  queue_.clear();
  written_ = 0;
  writeNotifier_->setEnabled(false);
}

void FrameChannel::readSome() {
  for (int turn = 0; turn < kReadsPerTurn && isOpen(); ++turn) {
    const ssize_t n = ::recv(socket_.get(), chunk_.data(), chunk_.size(), 0);
    if (n < 0 && isRetry(errno)) return;
    if (n <= 0) {
      // 0 is the regular end. ECONNRESET is an end as well: the worker left commands unread.
      close();
      emit ended();
      return;
    }
    reader_.append({chunk_.data(), static_cast<std::size_t>(n)});
    if (!handleFrames()) return;
  }
}

bool FrameChannel::handleFrames() {
  const QPointer<FrameChannel> alive(this);
  bool isComplete = false;
  while (isOpen()) {
    auto frame = reader_.next();
    if (!frame) {
      breakOff(frame.error());
      return false;
    }
    if (!frame->has_value()) {
      if (isComplete) emit received();
      return !alive.isNull();
    }
    const std::span<const std::uint8_t> bytes = **frame;
    auto message = wire::decode(bytes);
    if (!message) {
      breakOff(message.error());
      return false;
    }
    if (auto valid = validator_.check(*message); !valid) {
      breakOff(valid.error());
      return false;
    }
    handler_(bytes, *message);
    if (!alive) return false;
    isComplete = true;
  }
  return false;
}

void FrameChannel::breakOff(const Error& error) {
  close();
  emit violated(QString::fromStdString(error.message));
}

ssize_t sendQuietly(int socket, const void* bytes, std::size_t size) {
#ifdef MSG_NOSIGNAL
  return ::send(socket, bytes, size, MSG_NOSIGNAL);
#else
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
  return ::send(socket, bytes, size, 0);
#endif
}

Result<std::pair<UniqueFd, UniqueFd>> socketPair() {
  int fds[2] = {-1, -1};
#ifdef SOCK_CLOEXEC
  const int made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
#else
  const int made = ::socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
#endif
  if (made != 0) return failure(std::string("no socket pair: ") + std::strerror(errno));
#ifndef SOCK_CLOEXEC
  for (const int fd : fds) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
  for (const int fd : fds) wire::growSocketBuffers(fd);
  return std::pair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace highwater::session

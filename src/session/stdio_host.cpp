#include "session/stdio_host.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <QUrl>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/version.h"
#include "session/event_turn.h"
#include "session/remote_start.h"

namespace highwater::session {
namespace {

constexpr int kFirstOwnFd = 10;
/// A password may be asked for on the other machine before this one is reached, not after.
constexpr int kGoAheadMs = 60'000;
/// For the last messages of a run on a slow connection.
constexpr int kFlushMs = 120'000;

Error systemFailure(const char* what) {
  return failure(std::string(what) + ": " + std::strerror(errno));
}

void writeLine(int fd, std::string_view word, const QByteArray& text) {
  QByteArray line = QByteArray(word.data(), static_cast<qsizetype>(word.size())) + text + '\n';
  while (!line.isEmpty()) {
    const ssize_t n = ::write(fd, line.constData(), static_cast<std::size_t>(line.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the end of the connection is seen where it is read
    line.remove(0, n);
  }
}

/// Whether the other one says that the program may start.
bool hearsGoAhead(int fd) {
  std::string line;
  for (char byte = 0;;) {
    pollfd ready{fd, POLLIN, 0};
    const int count = ::poll(&ready, 1, kGoAheadMs);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || ::read(fd, &byte, 1) != 1) return false;
    if (byte == '\n') return line == remote_lines::kGoAhead;
    line += byte;
    if (line.size() > remote_lines::kGoAhead.size()) return false;
  }
}

void doNotBlock(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Result<std::unique_ptr<StdioHost>> StdioHost::greet() {
  if (::isatty(STDIN_FILENO) == 1 || ::isatty(STDOUT_FILENO) == 1) {
    return usageError("--stdio is what highwater run --on HOST starts on HOST; it speaks no text");
  }
  UniqueFd in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kFirstOwnFd));
  UniqueFd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirstOwnFd));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!in.valid() || !out.valid() || !null.valid()) return systemFailure("no connection");
  // Nothing that is printed may get between the frames.
  if (::dup2(null.get(), STDIN_FILENO) < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return systemFailure("no connection");
  }
  // ssh shares one window between stdout and stderr: where the other end stalls, both fill up.
  doNotBlock(STDERR_FILENO);
  writeLine(out.get(), remote_lines::kGreeting, kVersion);
  if (!hearsGoAhead(in.get())) {
    return Error{ErrorCode::kEnded, "the other machine did not say that the program shall start"};
  }
  return std::make_unique<StdioHost>(std::move(in), std::move(out));
}

StdioHost::StdioHost(UniqueFd in, UniqueFd out) : in_(std::move(in)), out_(std::move(out)) {}

void StdioHost::sayStarted(const QString& recording) {
  say(remote_lines::kRecords, recording);
  for (const UniqueFd* each : {&in_, &out_}) doNotBlock(each->get());
  readNotifier_ = std::make_unique<QSocketNotifier>(in_.get(), QSocketNotifier::Read);
  writeNotifier_ = std::make_unique<QSocketNotifier>(out_.get(), QSocketNotifier::Write);
  writeNotifier_->setEnabled(false);
  connect(readNotifier_.get(), &QSocketNotifier::activated, this, &StdioHost::readSome);
  connect(writeNotifier_.get(), &QSocketNotifier::activated, this, &StdioHost::writeSome);
  writeSome();
}

void StdioHost::sayNotStarted(const QString& why) {
  say(remote_lines::kNotStarted, why);
}

void StdioHost::say(std::string_view word, const QString& text) {
  writeLine(out_.get(), word, QUrl::toPercentEncoding(text));
}

void StdioHost::take(std::span<const std::uint8_t> frame, const Message& message) {
  if (!out_.valid()) return;
  const auto* batch = std::get_if<EventBatch>(&message);
  const bool isBehind = queue_.size() - written_ > kMostBehind;
  if (!isBehind || !batch || batch->of<events::OpSpan>().empty()) return queue(frame);
  EventBatch less = *batch;
  std::vector<events::DropRecord> drops(batch->of<events::DropRecord>().begin(),
                                        batch->of<events::DropRecord>().end());
  drops.emplace_back(batch->completeUpToNs, batch->of<events::OpSpan>().size(),
                     events::EventKind::OpSpan);
  less.of<events::OpSpan>() = {};
  less.of<events::DropRecord>() = drops;
  queue(wire::encode(less));
}

void StdioHost::queue(std::span<const std::uint8_t> bytes) {
  if (queue_.size() - written_ + bytes.size() > kMostQueued) return close();
  queue_.insert(queue_.end(), bytes.begin(), bytes.end());
  // Before sayStarted() the lines come first.
  if (writeNotifier_) writeSome();
}

void StdioHost::writeSome() {
  while (out_.valid() && written_ < queue_.size()) {
    const ssize_t n = ::write(out_.get(), queue_.data() + written_, queue_.size() - written_);
    if (n > 0) {
      written_ += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      writeNotifier_->setEnabled(true);
      // What has been written is not kept for long.
      if (written_ > kMostBehind) {
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(written_));
        written_ = 0;
      }
      return;
    } else {
      return close();
    }
  }
  queue_.clear();
  written_ = 0;
  if (writeNotifier_) writeNotifier_->setEnabled(false);
}

void StdioHost::flush() {
  while (out_.valid() && writeNotifier_ && written_ < queue_.size()) {
    pollfd ready{out_.get(), POLLOUT, 0};
    const int count = ::poll(&ready, 1, kFlushMs);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return close();
    writeSome();
  }
}

void StdioHost::readSome() {
  std::array<std::uint8_t, 16'384> bytes;
  for (int turn = 0; turn < kReadsPerTurn && in_.valid(); ++turn) {
    const ssize_t n = ::read(in_.get(), bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) return close();
    reader_.append({bytes.data(), static_cast<std::size_t>(n)});
    for (;;) {
      auto frame = reader_.next();
      if (!frame) return close();
      if (!frame->has_value()) break;
      const auto message = wire::decode(**frame);
      const auto* command = message ? std::get_if<Command>(&*message) : nullptr;
      if (!command) return close();
      emit commanded(*command);
      if (!in_.valid()) return;
    }
  }
}

void StdioHost::close() {
  for (auto* each : {&readNotifier_, &writeNotifier_}) {
    if (*each) (*each)->setEnabled(false);
  }
  in_.reset();
  out_.reset();
  queue_ = {};
  written_ = 0;
}

}  // namespace highwater::session

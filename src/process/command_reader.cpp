#include "process/command_reader.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "probe/stream/guest_thread.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::process {
namespace {

// The interval of the descriptor check while no command arrives.
constexpr int kLookEveryMs = 200;

}  // namespace

CommandReader::CommandReader(int fd, CommandTarget& target, bool welcomed, Callbacks callbacks)
    : own_(fd), target_(target), callbacks_(std::move(callbacks)), welcomed_(welcomed) {}

void CommandReader::start() {
  probe::startGuestThread([this] { run(); },
                          [this](const std::string& why) { callbacks_.protocolViolation(why); })
      .detach();
}

ssize_t CommandReader::readSome(std::span<std::uint8_t> bytes) const {
  pollfd waiting{own_.get(), POLLIN, 0};
  const int ready = ::poll(&waiting, 1, kLookEveryMs);
  if (ready < 0) return -1;
  if (!own_.isOurs()) {
    errno = EBADF;
    return -1;
  }
  if (ready == 0) {
    errno = EAGAIN;
    return -1;
  }
  return own_.isSocket() ? ::recv(own_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)
                         : ::read(own_.get(), bytes.data(), bytes.size());
}

void CommandReader::run() {
  std::array<std::uint8_t, 16 * 1024> buffer;
  while (true) {
    const ssize_t n = readSome(buffer);
    if (n > 0) {
      if (!take({buffer.data(), static_cast<std::size_t>(n)})) return;
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
      callbacks_.hostGone();
      return;
    }
  }
}

bool CommandReader::take(std::span<const std::uint8_t> bytes) {
  frames_.append(bytes);
  while (true) {
    const auto frame = frames_.next();
    if (!frame) {
      callbacks_.protocolViolation(frame.error().message);
      return false;
    }
    if (!frame->has_value()) return true;
    const Result<Message> message = wire::decode(**frame);
    if (!message) {
      callbacks_.protocolViolation(message.error().message);
      return false;
    }
    if (!handle(*message)) return false;
  }
}

bool CommandReader::handle(const Message& message) {
  if (const auto* welcome = std::get_if<Welcome>(&message)) {
    if (welcome->protocolVersion != wire::kProtocolVersion) {
      callbacks_.protocolViolation(
          "the host speaks protocol version " + std::to_string(welcome->protocolVersion) +
          ", this worker version " + std::to_string(wire::kProtocolVersion) +
          "; build both from the same sources");
      return false;
    }
    welcomed_ = true;
    target_.welcome();
    return true;
  }
  if (const auto* command = std::get_if<Command>(&message)) {
    if (!welcomed_) {
      callbacks_.answer({command->id, false, "a command came before Welcome", 0});
      return true;
    }
    callbacks_.answer(target_.obey(*command));
    return true;
  }
  callbacks_.protocolViolation("the host sent a frame that only a worker sends");
  return false;
}

}  // namespace highwater::process

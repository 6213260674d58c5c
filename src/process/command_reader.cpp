#include "process/command_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::process {

CommandReader::CommandReader(int fd, CommandTarget& target, bool welcomed, Callbacks callbacks)
    : fd_(fd), target_(target), callbacks_(std::move(callbacks)), welcomed_(welcomed) {}

void CommandReader::start() {
  std::thread([this] { run(); }).detach();
}

void CommandReader::run() {
  std::array<std::uint8_t, 16 * 1024> buffer;
  while (true) {
    const ssize_t n = ::read(fd_, buffer.data(), buffer.size());
    if (n > 0) {
      if (!take({buffer.data(), static_cast<std::size_t>(n)})) return;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd waiting{fd_, POLLIN, 0};
      ::poll(&waiting, 1, -1);
    } else if (n == 0 || errno != EINTR) {
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

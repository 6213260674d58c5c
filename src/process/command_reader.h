#pragma once

#include <functional>
#include <span>
#include <string>
#include <thread>

#include "core/messages.h"
#include "wire/frame_reader.h"
#include "wire/own_descriptor.h"

namespace highwater::process {

/// What the host's commands go to. The methods are called by the thread that reads them.
class CommandTarget {
 public:
  virtual ~CommandTarget() = default;
  /// The host has sent Welcome.
  virtual void welcome() = 0;
  /// Carries out a command, or says in the result why not.
  [[nodiscard]] virtual CommandResult obey(const Command& command) = 0;
};

/// The thread that reads the host's frames and passes their commands to a CommandTarget. It is
/// never joined: the reader, `target` and everything the callbacks use must live as long as the
/// process. It reads only while the descriptor still stands for what it was given.
class CommandReader {
 public:
  /// The functions that the reader calls, on its own thread.
  struct Callbacks {
    std::function<void(const CommandResult&)> answer;
    /// End of file, a read error, or a descriptor that is not ours any more; nothing is read any
    /// more.
    std::function<void()> hostGone;
    /// The host broke the protocol, and how, or the reader failed; nothing is read any more.
    std::function<void(const std::string&)> protocolViolation;
  };

  /// Starts no thread yet. Reads from `fd`. `welcomed`: accept commands before the host has sent
  /// Welcome.
  CommandReader(int fd, CommandTarget& target, bool welcomed, Callbacks callbacks);
  /// Starts the reading thread. Throws std::system_error where the system gives none.
  void start();

 private:
  void run();
  /// As read(); EAGAIN where nothing came for a while.
  [[nodiscard]] ssize_t readSome(std::span<std::uint8_t> bytes) const;
  /// False: stop reading.
  [[nodiscard]] bool take(std::span<const std::uint8_t> bytes);
  [[nodiscard]] bool handle(const Message& message);

  wire::OwnDescriptor own_;
  CommandTarget& target_;
  Callbacks callbacks_;
  bool welcomed_;
  wire::FrameReader frames_;
};

}  // namespace highwater::process

#pragma once

#include <functional>
#include <span>
#include <string>
#include <thread>

#include "core/messages.h"
#include "wire/frame_reader.h"

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

/// The thread that reads the host's frames and passes their commands to a CommandTarget. It may
/// block in a read for ever and is never joined: the reader, `target` and everything the callbacks
/// use must live as long as the process.
class CommandReader {
 public:
  /// The functions that the reader calls, on its own thread.
  struct Callbacks {
    std::function<void(const CommandResult&)> answer;
    std::function<void()> hostGone;  ///< end of file or a read error; nothing is read any more
    /// The host broke the protocol, and how; nothing is read any more.
    std::function<void(const std::string&)> protocolViolation;
  };

  /// Starts no thread yet. Reads from `fd`. `welcomed`: accept commands before the host has sent
  /// Welcome.
  CommandReader(int fd, CommandTarget& target, bool welcomed, Callbacks callbacks);
  /// Starts the reading thread.
  void start();

 private:
  void run();
  /// False: stop reading.
  [[nodiscard]] bool take(std::span<const std::uint8_t> bytes);
  [[nodiscard]] bool handle(const Message& message);

  int fd_;
  CommandTarget& target_;
  Callbacks callbacks_;
  bool welcomed_;
  wire::FrameReader frames_;
};

}  // namespace highwater::process

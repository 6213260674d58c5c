#pragma once

#include <functional>
#include <span>
#include <string>
#include <thread>

#include "core/messages.h"
#include "wire/frame_reader.h"
#include "worker/run_control.h"

namespace highwater::worker {

/// The thread that reads the host's frames and passes their commands to RunControl. It may block in
/// a read for ever and is never joined: the reader, `control` and everything the callbacks use must
/// live as long as the process.
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
  CommandReader(int fd, RunControl& control, bool welcomed, Callbacks callbacks);
  /// Starts the reading thread.
  void start();

 private:
  void run();
  /// False: stop reading.
  [[nodiscard]] bool take(std::span<const std::uint8_t> bytes);
  [[nodiscard]] bool handle(const Message& message);

  int fd_;
  RunControl& control_;
  Callbacks callbacks_;
  bool welcomed_;
  wire::FrameReader frames_;
};

}  // namespace highwater::worker

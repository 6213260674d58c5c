#pragma once

#include <functional>
#include <span>
#include <string>
#include <thread>

#include "core/messages.h"
#include "wire/frame_reader.h"
#include "worker/run_control.h"

namespace highwater::worker {

/// The thread that reads what the host says. It may sit in a read for ever, so it is never joined:
/// what it is given must live as long as the process.
class CommandReader {
 public:
  struct Callbacks {
    std::function<void(const CommandResult&)> answer;
    std::function<void()> hostGone;                    ///< end of file, or an error
    std::function<void(const std::string&)> nonsense;  ///< the host broke the protocol
  };

  /// `welcomed`: commands are obeyed without a Welcome first.
  CommandReader(int fd, RunControl& control, bool welcomed, Callbacks callbacks);
  void start();

 private:
  void run();
  /// False where nothing more is to be read.
  [[nodiscard]] bool take(std::span<const std::uint8_t> bytes);
  [[nodiscard]] bool handle(const Message& message);

  int fd_;
  RunControl& control_;
  Callbacks callbacks_;
  bool welcomed_;
  wire::FrameReader frames_;
};

}  // namespace highwater::worker

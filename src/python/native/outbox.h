#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/messages.h"
#include "probe/stream/frame_writer.h"

namespace highwater::python {

/// Sends messages from a thread of its own, in order, so that whoever posts one never waits for a
/// host that does not read. Any thread.
class Outbox {
 public:
  /// `writer` is not owned and must outlive the outbox. Throws std::system_error where the system
  /// gives no thread.
  explicit Outbox(probe::FrameWriter& writer);
  ~Outbox();  ///< stop()

  void post(Message message);
  /// Sends what was posted, and ends the thread. Waits as long as the writer does.
  void stop();

 private:
  void run();

  probe::FrameWriter& writer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> posted_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace highwater::python

#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "simmps/policy/process_fork.h"

namespace highwater::simmps {

class DeviceEvent;
class Ledger;

/// Tells events that the queue has passed them, as the listeners of Metal's shared events do: on a
/// thread of its own, 50 to 200 us late, and of events that are passed shortly after each other the
/// later one possibly first. An event's time is that of its notice (MPSEvent.mm takes it in the
/// listener). In a child that was forked later, events are noticed at once. Thread-safe.
class EventNotices {
 public:
  /// `ledger` records the notices; may be null, else it must outlive this object.
  explicit EventNotices(Ledger* ledger);
  /// Delivers what is pending, then ends the thread.
  ~EventNotices();
  EventNotices(const EventNotices&) = delete;
  EventNotices& operator=(const EventNotices&) = delete;

  /// Notices later that the queue has passed `recording` of the event, which was recorded at
  /// `recordedNs` of deviceClockNs(). Does not wait.
  void post(std::shared_ptr<DeviceEvent> event, std::uint64_t recording, std::uint64_t recordedNs);
  /// Blocks until the event's newest recording was noticed, which must have passed.
  void wait(const DeviceEvent& event);

 private:
  struct Notice {
    std::shared_ptr<DeviceEvent> event;
    std::uint64_t recording = 0;
    std::uint64_t recordedNs = 0;
    std::uint64_t dueNs = 0;
  };

  void loop();
  void stopInChild();

  Ledger* const ledger_;
  std::mutex mutex_;
  /// Held by pointer, so that a forked child can replace them.
  struct Signals {
    std::condition_variable work;
    std::condition_variable delivered;
  };
  std::unique_ptr<Signals> signals_ = std::make_unique<Signals>();
  std::vector<Notice> pending_;
  std::uint64_t posted_ = 0;
  bool stopping_ = false;
  bool inChild_ = false;
  std::thread thread_;  ///< starts with the first notice
  const ForkSteps fork_;
};

}  // namespace highwater::simmps

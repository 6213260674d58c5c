#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/ids.h"
#include "core/messages.h"
#include "probe/stream/event_record.h"

namespace highwater::probe {

/// Collects events from the lanes and cuts them into batches that fit into a frame. Sender thread
/// only.
class BatchCollector {
 public:
  /// Adds an event of any kind.
  void add(const EventRecord& record);
  /// Adds an event whose type is known.
  template <typename Event>
  void add(const Event& event) {
    events_.of<Event>().push_back(event);
  }

  /// Passes the collected events to `send` in one or more batches; does not call it where there are
  /// none.
  ///
  /// Steps and memory samples come from several threads, so they are sorted, steps by number and
  /// samples by time; samples later than `completeUpToNs` wait for the next call. Sync points,
  /// fallbacks, host samples and the work of ops also wait, from the first one on whose call site
  /// is not defined yet
  /// (`isDefined` returns false). The batches are then marked complete only up to the end of that
  /// wait or fallback.
  void flush(std::int64_t completeUpToNs, const std::function<bool(CallSiteId)>& isDefined,
             const std::function<void(const EventBatch&)>& send);

 private:
  // Well below kMaxFrameBytes, which leaves room for the frame's own fields.
  static constexpr std::size_t kMaxBatchBytes = std::size_t{1} << 20;

  [[nodiscard]] std::vector<events::MemorySample> takeLaterSamples(std::int64_t completeUpToNs);

  PerEventKind<EventVector> events_;
  std::int64_t sentUpToNs_ = 0;
};

}  // namespace highwater::probe

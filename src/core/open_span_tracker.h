#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/messages.h"

namespace highwater {

/// The innermost span (an op or phase) that is still open, and how long training has stood still in
/// it.
struct OpenSpanState {
  events::OpenSpan span;  ///< its step is 0 if that step has ended: the span is between two steps
  /// Since the span began or since the last step ended, whichever is later.
  std::chrono::nanoseconds stalledFor{0};
};

/// Finds out from a run's events which span (an op or phase) has begun and not ended. The worker
/// reports a span once it has been open for 100 ms, and again with every heartbeat; it does not
/// report that the span has closed.
class OpenSpanTracker {
 public:
  /// Takes the next events of the run, in the order of the stream.
  void add(const EventBatch& batch);

  /// The innermost open span: of the spans in the worker's last report, the one that began last, on
  /// any thread. Nothing if no span is open. A span counts as closed if a step ended or a later
  /// step ran after the report, or if heartbeats came without it for 500 ms. A span that is open
  /// when the stream ends stays open.
  [[nodiscard]] std::optional<OpenSpanState> innermost() const;

 private:
  void add(const events::OpenSpan& span);

  std::optional<events::OpenSpan> span_;  ///< of the last report, unless it has closed
  std::int64_t newestNs_ = 0;             ///< the stream tells about the time up to here
  std::int64_t stepEndNs_ = 0;            ///< when the last step ended
  std::uint32_t stepsDone_ = 0;
};

}  // namespace highwater

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// The host time of one step, split into queueing ops (`enqueueMs`) and waiting for the device
/// (`waitMs`).
struct StepQueue {
  std::uint32_t step = 0;
  double enqueueMs = 0;                ///< host time without the waits
  std::optional<double> deviceSpanMs;  ///< see events::DeviceSpan
  double waitMs = 0;  ///< time in sync points and in the waits of fallbacks; overlapping waits
                      ///< (nested, or on two threads) count once
};

/// The median and the 95th percentile of a set of values, by nearest rank.
struct Percentiles {
  double p50 = 0;
  double p95 = 0;
};

/// Queueing and waiting times of all steps of a run, with percentiles over the steps. A percentile
/// is empty if no step has the value.
struct QueueSummary {
  std::vector<StepQueue> steps;
  std::optional<Percentiles> enqueueMs, deviceSpanMs, waitMs;
};

/// Splits the host time of every step into queueing ops and waiting for the device. Waits outside
/// of the steps, such as those of an evaluation, are not counted. Empty for a run on the CPU, which
/// has no queue.
[[nodiscard]] QueueSummary summarizeQueue(const LiveStore& store);

}  // namespace highwater::analysis

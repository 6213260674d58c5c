#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// How one step used the device's queue. `enqueueMs` + `waitMs` is the host time of the step.
struct StepQueue {
  std::uint32_t step = 0;
  double enqueueMs = 0;                ///< host time of the step less its waits
  std::optional<double> deviceSpanMs;  ///< see events::DeviceSpan; nothing where unknown
  double waitMs = 0;  ///< host time within sync points and the waits of fallbacks; waits that
                      ///< overlap (one within another, or on two threads) count once
};

/// Percentiles by nearest rank.
struct Percentiles {
  double p50 = 0;
  double p95 = 0;
};

/// The steps of a run; without a value where no step has one.
struct QueueSummary {
  std::vector<StepQueue> steps;
  std::optional<Percentiles> enqueueMs, deviceSpanMs, waitMs;
};

/// Empty for a device without a queue: the CPU. Waits outside of the steps (those of an evaluation)
/// belong to none.
[[nodiscard]] QueueSummary summarizeQueue(const LiveStore& store);

}  // namespace highwater::analysis

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/device/host_timeline.h"

namespace highwater::analysis {

/// How long the host queued the ops of a phase, and how long the device took to run them. All times
/// are medians per step.
struct PhaseExecution {
  std::vector<events::Phase> phases;  ///< forward, backward or optimizer step; two where they
                                      ///< cannot be told apart
  std::uint64_t steps = 0;            ///< the numbers are medians of so many
  double queuedMs = 0;                ///< host time without waits and fallbacks
  /// Estimated bounds of the device time. Both are set if some steps have bounds within a factor of
  /// two, and are medians of those steps. Only `highMs` is set if the device kept up with the host.
  /// Neither is set if no wait separates the phases from the others.
  std::optional<double> lowMs, highMs;
};

/// How far the host runs ahead of the device: the device work still queued when the host starts to
/// wait, as the maximum of each step. Measured by the waits, and by the device span of steps that
/// have one.
struct HostLead {
  std::uint64_t steps = 0;  ///< for which it is known
  double p50Ms = 0, maxMs = 0;
  std::optional<double> p50Steps, maxSteps;  ///< the same in median device spans
};

/// Host and device time of a run's steps and of their phases, in milliseconds per step.
struct ExecutionSummary {
  std::vector<PhaseExecution> phases;
  std::uint64_t steps = 0;  ///< without the first, which allocates and compiles
  double stepQueuedMs = 0;  ///< median host time without waits, fallbacks and batch assembly
  std::optional<double> stepDeviceMs;  ///< median device span, which is exact
  std::optional<HostLead> lead;
};

/// Estimates the device time of each phase, since device spans are known for whole steps only.
/// During a drain (a wait that ends with an empty device queue) the device works all the time,
/// unless the drain is near zero, and it cannot begin before something is queued. So for the
/// stretch between two drains
///   - low is the time from the last queued op to the end of the closing wait; where the device may
///     begin only when work is committed, from the commit: at the end of the step, or the wait,
///   - high is the time from the first queued op to the same end.
/// A phase's low is the sum over the stretches of a step in which only that phase queued ops, its
/// high the sum over all in which it did. Empty for a run on the CPU and for fewer than two steps.
[[nodiscard]] ExecutionSummary summarizeExecution(const LiveStore& store);
/// The same for the steps [first, last) in order of time, all of them.
[[nodiscard]] ExecutionSummary summarizeExecution(const LiveStore& store, std::size_t first,
                                                  std::size_t last);

}  // namespace highwater::analysis

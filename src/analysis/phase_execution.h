#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/host_timeline.h"

namespace highwater::analysis {

/// What the host queued in phases, and how long the device took for it.
struct PhaseExecution {
  std::vector<events::Phase> phases;  ///< of forward, backward and optimizer step: one, or two that
                                      ///< cannot be told apart
  std::uint64_t steps = 0;            ///< that the numbers are medians of
  double queuedMs = 0;                ///< host time of the phases less waits and fallbacks
  /// Bounds of the device's time for it: an estimate. Both where at least one step has bounds no
  /// more than a factor of two apart; of such steps. `highMs` alone where the device kept up with
  /// the host, so that nothing says how long it worked. Neither where no wait parts the phases from
  /// the others.
  std::optional<double> lowMs, highMs;
};

/// How far the host runs ahead of the device: when it has queued the last op before a wait, so long
/// the device still has to work. By the waits, and by the device span where a step has one; `steps`
/// is that in median device spans. The furthest of each step.
struct HostLead {
  std::uint64_t steps = 0;  ///< that it is known of
  double p50Ms = 0, maxMs = 0;
  std::optional<double> p50Steps, maxSteps;
};

struct ExecutionSummary {
  std::vector<PhaseExecution> phases;
  std::uint64_t steps = 0;  ///< all but the first, which allocates and compiles
  double stepQueuedMs = 0;  ///< median host time less waits, fallbacks and batch assembly
  std::optional<double> stepDeviceMs;  ///< median device span, which is exact
  std::optional<HostLead> lead;
};

/// The device's span is known for whole steps only. Of a phase the waits tell: in a wait at whose
/// end the queue is empty the device worked all the time, unless it was near zero, and it cannot
/// have begun before there was something to do. So of a stretch from one drain to the next
///   low   is the time from the last op that the host queued to the end of the wait,
///   high  that from the first.
/// What is low for a phase is the sum over the stretches of a step in which only that phase queued,
/// what is high that over all in which it did. Empty for the CPU, and without two steps.
[[nodiscard]] ExecutionSummary summarizeExecution(const LiveStore& store);

}  // namespace highwater::analysis

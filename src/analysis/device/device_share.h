#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/run_summary.h"

namespace highwater::analysis {

/// The device time of one phase, or of phases that cannot be told apart, in ms a step. An estimate
/// with bounds.
struct DevicePart {
  std::vector<events::Phase> phases;
  double lowMs = 0, ms = 0, highMs = 0;
};

/// How the device spent the time of the steps of a range, in ms a step: an estimate. All parts,
/// `restMs` and `idleMs` add up to `stepMs`.
struct DeviceShare {
  std::size_t steps = 0;  ///< the newest of the range, kMostSteps at most
  double stepMs = 0;      ///< from the begin of a step to the begin of the next
  double idleMs = 0;
  double restMs = 0;  ///< busy, but not known with what
  std::vector<DevicePart> parts;
  /// Why nothing is known; empty if something is.
  std::string unknown;

  /// The most steps that are read: the newest ones speak for the range.
  static constexpr std::size_t kMostSteps = 500;
};

/// Estimates how the device spent the time of the steps that lie in `range` as a whole, by
/// summarizeExecution() and DeviceTimeline.
[[nodiscard]] DeviceShare deviceShareIn(const LiveStore& store, const TimeRange& range);

}  // namespace highwater::analysis

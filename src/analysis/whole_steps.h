#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "analysis/run_summary.h"

namespace highwater::analysis {

/// Rows of StepColumns: [first, last).
struct StepRows {
  std::size_t first = 0;
  std::size_t last = 0;

  bool operator==(const StepRows&) const = default;
  [[nodiscard]] std::size_t size() const { return last - first; }
  [[nodiscard]] bool empty() const { return first == last; }
  /// The records of these rows. Precondition: the store has them.
  [[nodiscard]] std::span<const events::StepRecord> in(const LiveStore& store) const {
    return std::span(store.steps().records).subspan(first, size());
  }
};

/// Returns the finished steps that lie wholly in a range: they begin at or after its begin and end
/// at or before its end. Two binary searches.
[[nodiscard]] StepRows wholeStepsIn(const LiveStore& store, const TimeRange& range);

/// The time from the begin of the first of these steps to the end of the last. Precondition: there
/// is one.
[[nodiscard]] TimeRange firstToLast(std::span<const events::StepRecord> steps);

/// So many steps must have been queued since the last wait for the next one to be for them.
inline constexpr std::uint32_t kLeastDrainedSteps = 4;
/// The wait, after the last step of a run that has ended, for what its steps have queued: nothing
/// else comes in between but the begin of a further step, and kLeastDrainedSteps or more were
/// queued since the last wait. Empty where there is none. Until its end the device was behind the
/// host.
[[nodiscard]] std::optional<TimeRange> drainAfterSteps(const LiveStore& store);

/// The time, in ns, for which the host waits after these steps for what they have queued: in the
/// first wait between two steps, or after the last of them if it ends by `endNs`, where
/// kLeastDrainedSteps or more were queued since the last wait. Of an evaluation before the wait,
/// which has queued work as well, the share of the wait is estimated from sizes; where those are
/// not known, and where other work comes before it, the wait does not count. The begin of a further
/// step, as a forward that is not used, counts as a step: so much is lost at most. Where only
/// some of the steps that it is for are among these, their part of it counts.
[[nodiscard]] std::int64_t drainedNs(const LiveStore& store, const StepRows& steps,
                                     std::int64_t endNs);

/// Returns the index of the newest of the last 64 steps that has the batch size of the step before
/// it, or of the last step. The last batch of an epoch is often shorter, which is no change of a
/// setting. Precondition: there is a step.
[[nodiscard]] std::size_t newestOfSettledBatch(std::span<const events::StepRecord> steps);

}  // namespace highwater::analysis

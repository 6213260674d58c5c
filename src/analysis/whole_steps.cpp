#include "analysis/whole_steps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "analysis/device/device_work.h"

namespace highwater::analysis {

StepRows wholeStepsIn(const LiveStore& store, const TimeRange& range) {
  const auto& records = store.steps().records;
  const auto first = std::partition_point(
      records.begin(), records.end(),
      [&](const events::StepRecord& step) { return step.begin_ns() < range.beginNs; });
  const auto last = std::partition_point(first, records.end(), [&](const events::StepRecord& step) {
    return step.begin_ns() + step.duration_ns() <= range.endNs;
  });
  return {static_cast<std::size_t>(first - records.begin()),
          static_cast<std::size_t>(last - records.begin())};
}

TimeRange firstToLast(std::span<const events::StepRecord> steps) {
  return {steps.front().begin_ns(), endNsOf(steps.back())};
}

namespace {

bool beginsIn(const SpanIndex& lane, std::int64_t beginNs, std::int64_t endNs) {
  const std::size_t next = lane.firstFrom(beginNs);
  return next < lane.size() && lane[next].beginNs < endNs;
}

/// Whether a phase, or one that the script names, begins in a range.
bool worksBetween(const LiveStore& store, std::int64_t beginNs, std::int64_t endNs) {
  return beginsIn(store.phaseLane(), beginNs, endNs) || beginsIn(store.namedLane(), beginNs, endNs);
}

/// Whether the work between the end of the step of `row` and `untilNs` is the begin of a further
/// step: no evaluation, and of each phase no more than that step has, without a backward. So it is
/// at most what one step queues.
bool beginsStepAfter(const LiveStore& store, std::size_t row, std::int64_t untilNs) {
  const auto& step = store.steps().records[row];
  const std::int64_t fromNs = endNsOf(step);
  if (beginsIn(store.namedLane(), fromNs, untilNs)) return false;
  const SpanIndex& phases = store.phaseLane();
  const auto count = [&](std::int64_t beginNs, std::int64_t endNs, events::Phase phase) {
    std::size_t found = 0;
    for (std::size_t i = phases.firstFrom(beginNs); i < phases.size() && phases[i].beginNs < endNs;
         ++i) {
      if (phases[i].category == static_cast<std::uint8_t>(phase)) ++found;
    }
    return found;
  };
  for (const auto phase : {events::Phase::Backward, events::Phase::OptimizerStep}) {
    if (count(fromNs, untilNs, phase) > 0) return false;
  }
  constexpr auto kForward = events::Phase::Forward;
  return count(fromNs, untilNs, kForward) <= count(step.begin_ns(), fromNs, kForward);
}

/// Between two steps that follow each other the host does next to nothing.
constexpr std::int64_t kLeastGapNs = 50'000;

/// Which part of the first wait after the step of `row` is for the steps of `rows`, in ns.
/// `evaluation` tells mostStepsLikeEvaluation().
std::int64_t drainedAfter(const LiveStore& store, std::size_t row, const StepRows& rows,
                          const TimeRange& wait, const std::function<double()>& evaluation) {
  const auto& records = store.steps().records;
  std::int64_t sinceNs = 0;
  for (const SpanIndex* lane : {&store.syncLane(), &store.fallbackLane()}) {
    const std::size_t next = lane->firstFrom(wait.beginNs);
    if (next > 0) sinceNs = std::max(sinceNs, (*lane)[next - 1].endNs);
  }
  const auto first = static_cast<std::size_t>(
      std::partition_point(
          records.begin(), records.begin() + static_cast<std::ptrdiff_t>(row),
          [&](const events::StepRecord& step) { return step.begin_ns() < sinceNs; }) -
      records.begin());
  const std::size_t steps = row + 1 - first;
  if (steps < kLeastDrainedSteps) return 0;
  const bool isAfterWork = worksBetween(store, endNsOf(records[row]), wait.beginNs);
  double others = 0;
  if (isAfterWork) others = beginsStepAfter(store, row, wait.beginNs) ? 1 : evaluation();
  const double all = static_cast<double>(steps) + others;
  const std::size_t counted = row + 1 - std::max(first, rows.first);
  const double share = static_cast<double>(counted) / all;
  return std::llround(static_cast<double>(wait.endNs - wait.beginNs) * share);
}

}  // namespace

std::optional<TimeRange> drainAfterSteps(const LiveStore& store) {
  const auto& records = store.steps().records;
  if (!store.end() || records.size() < kLeastDrainedSteps) return std::nullopt;
  const std::int64_t endNs = records.back().begin_ns() + records.back().duration_ns();
  const std::int64_t fromNs = records[records.size() - kLeastDrainedSteps].begin_ns();
  const SpanIndex& waits = store.syncLane();
  const std::size_t first = waits.firstFrom(endNs);
  if (first == waits.size()) return std::nullopt;
  const TimeRange wait{waits[first].beginNs, waits[first].endNs};
  const bool hasWaited = (first > 0 && waits[first - 1].endNs > fromNs) ||
                         store.fallbackLane().firstFrom(fromNs) < store.fallbackLane().size();
  const bool isOfSteps = !worksBetween(store, endNs, wait.beginNs) ||
                         beginsStepAfter(store, records.size() - 1, wait.beginNs);
  if (hasWaited || !isOfSteps) return std::nullopt;
  return wait;
}

std::int64_t drainedNs(const LiveStore& store, const StepRows& steps, std::int64_t endNs) {
  const auto& records = store.steps().records;
  const SpanIndex& waits = store.syncLane();
  std::optional<double> likeEvaluation;  // it takes a walk over all ops that were counted
  const auto evaluation = [&] {
    if (!likeEvaluation) likeEvaluation = mostStepsLikeEvaluation(store);
    return *likeEvaluation;
  };
  std::int64_t ns = 0;
  for (std::size_t row = steps.first; row < steps.last; ++row) {
    const std::int64_t fromNs = endNsOf(records[row]);
    const bool isNewest = row + 1 == records.size();
    // While the run goes on, that wait may be one of the step that is open.
    if (isNewest && !store.end()) continue;
    const std::int64_t untilNs =
        isNewest ? std::numeric_limits<std::int64_t>::max() : records[row + 1].begin_ns();
    if (untilNs - fromNs < kLeastGapNs) continue;
    const std::size_t first = waits.firstFrom(fromNs);
    if (first == waits.size() || waits[first].beginNs >= untilNs) continue;
    const TimeRange wait{waits[first].beginNs, waits[first].endNs};
    if (row + 1 == steps.last && wait.endNs > endNs) continue;
    ns += drainedAfter(store, row, steps, wait, evaluation);
  }
  return ns;
}

std::size_t newestOfSettledBatch(std::span<const events::StepRecord> steps) {
  constexpr std::size_t kMost = 64;
  const std::size_t last = steps.size() - 1;
  for (std::size_t i = last; i > 0 && last - i < kMost; --i) {
    if (steps[i].batch_size() == steps[i - 1].batch_size()) return i;
  }
  return last;
}

}  // namespace highwater::analysis

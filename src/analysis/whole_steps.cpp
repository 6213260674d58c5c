#include "analysis/whole_steps.h"

#include <algorithm>
#include <cmath>
#include <iterator>

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

/// Whether a phase, or one that the script names, begins in a range.
bool worksBetween(const LiveStore& store, std::int64_t beginNs, std::int64_t endNs) {
  const auto beginsIn = [&](const SpanIndex& lane) {
    const std::size_t next = lane.firstFrom(beginNs);
    return next < lane.size() && lane[next].beginNs < endNs;
  };
  return beginsIn(store.phaseLane()) || beginsIn(store.namedLane());
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
  if (hasWaited || worksBetween(store, endNs, wait.beginNs)) return std::nullopt;
  return wait;
}

std::int64_t drainedNs(const LiveStore& store, const TimeRange& wait) {
  const auto& records = store.steps().records;
  const auto after = std::partition_point(
      records.begin(), records.end(),
      [&](const events::StepRecord& step) { return step.begin_ns() <= wait.beginNs; });
  if (after == records.begin() || endNsOf(*std::prev(after)) > wait.beginNs) return 0;
  std::int64_t sinceNs = 0;
  for (const SpanIndex* lane : {&store.syncLane(), &store.fallbackLane()}) {
    const std::size_t next = lane->firstFrom(wait.beginNs);
    if (next > 0) sinceNs = std::max(sinceNs, (*lane)[next - 1].endNs);
  }
  const auto first = std::partition_point(
      records.begin(), after,
      [&](const events::StepRecord& step) { return step.begin_ns() < sinceNs; });
  if (after - first < std::ptrdiff_t{kLeastDrainedSteps}) return 0;
  const std::int64_t waitNs = wait.endNs - wait.beginNs;
  const std::int64_t endNs = endNsOf(*std::prev(after));
  if (!worksBetween(store, endNs, wait.beginNs)) return waitNs;
  const auto stepsNs = static_cast<double>(endNs - first->begin_ns());
  const auto hostNs = static_cast<double>(wait.beginNs - first->begin_ns());
  return std::llround(static_cast<double>(waitNs) * stepsNs / hostNs);
}

std::int64_t drainedNsIn(const LiveStore& store, const TimeRange& range) {
  const SpanIndex& waits = store.syncLane();
  std::int64_t ns = 0;
  for (std::size_t i = waits.firstFrom(range.beginNs);
       i < waits.size() && waits[i].beginNs < range.endNs; ++i) {
    ns += drainedNs(store, {waits[i].beginNs, waits[i].endNs});
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

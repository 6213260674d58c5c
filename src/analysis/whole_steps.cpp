#include "analysis/whole_steps.h"

#include <algorithm>

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
  const auto comesBetween = [&](const SpanIndex& lane) {
    const std::size_t next = lane.firstFrom(endNs);
    return next < lane.size() && lane[next].beginNs < wait.beginNs;
  };
  if (hasWaited || comesBetween(store.phaseLane()) || comesBetween(store.namedLane())) {
    return std::nullopt;
  }
  return wait;
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

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

std::size_t newestOfSettledBatch(std::span<const events::StepRecord> steps) {
  constexpr std::size_t kMost = 64;
  const std::size_t last = steps.size() - 1;
  for (std::size_t i = last; i > 0 && last - i < kMost; --i) {
    if (steps[i].batch_size() == steps[i - 1].batch_size()) return i;
  }
  return last;
}

}  // namespace highwater::analysis

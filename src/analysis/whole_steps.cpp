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

}  // namespace highwater::analysis

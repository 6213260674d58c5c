#include "analysis/device/step_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;

/// Adds the waits of a lane, clipped to `step`. A wait lasts from the begin of its span to
/// waitEnd(span).
template <typename WaitEnd>
void addWaits(const SpanIndex& lane, const Interval& step, WaitEnd&& waitEnd,
              std::vector<Interval>& waits) {
  const auto [first, last] = lane.touching(step.first, step.second);
  for (std::size_t i = first; i < last; ++i) {
    const std::int64_t begin = std::max(lane[i].beginNs, step.first);
    const std::int64_t end = std::min(waitEnd(lane[i]), step.second);
    if (begin < end) waits.emplace_back(begin, end);
  }
}

/// The length of the union of the intervals. Sorts them.
std::int64_t coveredNs(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::int64_t covered = 0;
  std::int64_t upTo = std::numeric_limits<std::int64_t>::min();
  for (const auto& [begin, end] : intervals) {
    covered += std::max<std::int64_t>(end - std::max(begin, upTo), 0);
    upTo = std::max(upTo, end);
  }
  return covered;
}

std::int64_t waitNs(const LiveStore& store, const Interval& step, std::vector<Interval>& scratch) {
  scratch.clear();
  addWaits(
      store.syncLane(), step, [](const Span& span) { return span.endNs; }, scratch);
  // A fallback begins with a wait for its copies to the CPU.
  addWaits(
      store.fallbackLane(), step,
      [&store](const Span& span) {
        return span.beginNs + store.fallbacks()[span.payload].wait_ns();
      },
      scratch);
  return coveredNs(scratch);
}

std::optional<Percentiles> percentiles(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  return Percentiles{percentileOf(values, 50), percentileOf(values, 95)};
}

}  // namespace

QueueSummary summarizeQueue(const LiveStore& store) {
  QueueSummary summary;
  if (!store.hasQueue()) return summary;
  std::vector<double> enqueue, deviceSpan, wait;
  std::vector<Interval> scratch;
  const StepColumns& steps = store.steps();
  for (std::size_t row = 0; row < steps.records.size(); ++row) {
    const events::StepRecord& record = steps.records[row];
    const std::int64_t waited =
        waitNs(store, {record.begin_ns(), record.begin_ns() + record.duration_ns()}, scratch);
    StepQueue queue;
    queue.step = record.step();
    queue.waitMs = toMs(waited);
    queue.enqueueMs = toMs(record.duration_ns() - waited);
    enqueue.push_back(queue.enqueueMs);
    wait.push_back(queue.waitMs);
    if (!std::isnan(steps.deviceMs[row])) {
      queue.deviceSpanMs = steps.deviceMs[row];
      deviceSpan.push_back(*queue.deviceSpanMs);
    }
    summary.steps.push_back(queue);
  }
  summary.enqueueMs = percentiles(std::move(enqueue));
  summary.deviceSpanMs = percentiles(std::move(deviceSpan));
  summary.waitMs = percentiles(std::move(wait));
  return summary;
}

}  // namespace highwater::analysis

#include "analysis/device/idle_estimate.h"

#include <algorithm>
#include <cmath>

#include "analysis/device/idle_parts.h"
#include "analysis/device/range_timeline.h"
#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

IdleCause causeOf(HostWork work, bool knowsPasses) {
  switch (work) {
    case HostWork::BatchAssembly:
      return IdleCause::BatchAssembly;
    case HostWork::DeviceMove:
      return IdleCause::DeviceMove;
    case HostWork::Fallback:
      return IdleCause::Fallback;
    case HostWork::Reading:
      return IdleCause::Reading;
    case HostWork::Evaluation:
      return IdleCause::Evaluation;
    case HostWork::BetweenSteps:
      return IdleCause::BetweenSteps;
    case HostWork::InStep:
      return knowsPasses ? IdleCause::OwnWork : IdleCause::Queueing;
    case HostWork::Queueing:
      break;
  }
  return IdleCause::Queueing;
}

template <typename Of>
IdleTime medians(const std::vector<StepIdle>& steps, Of&& of) {
  std::vector<double> low, probable, high;
  for (auto* values : {&low, &probable, &high}) values->reserve(steps.size());
  for (const StepIdle& step : steps) {
    const IdleTime& idle = of(step);
    low.push_back(idle.low);
    probable.push_back(idle.probable);
    high.push_back(idle.high);
  }
  return {medianOf(std::move(low)), medianOf(std::move(probable)), medianOf(std::move(high))};
}

std::vector<CauseOfIdle> causesOf(const std::vector<StepIdle>& steps) {
  std::vector<CauseOfIdle> causes;
  for (std::size_t i = 0; i < kIdleCauses; ++i) {
    const auto of = [i](const StepIdle& step) -> const IdleTime& { return step.byCause[i]; };
    CauseOfIdle cause{static_cast<IdleCause>(i), {}, {}};
    for (const StepIdle& step : steps) cause.total += of(step);
    if (cause.total.high <= 0) continue;
    cause.p50 = medians(steps, of);
    causes.push_back(cause);
  }
  std::sort(causes.begin(), causes.end(), [](const CauseOfIdle& a, const CauseOfIdle& b) {
    return a.p50.probable != b.p50.probable ? a.p50.probable > b.p50.probable
                                            : a.total.probable > b.total.probable;
  });
  return causes;
}

/// Notes the idle time of each step of a timeline.
class StepIdleNotes {
 public:
  /// `timeline` must outlive the notes.
  StepIdleNotes(const LiveStore& store, const RangeTimeline& timeline)
      : knowsPasses_(knowsPasses(store)),
        firstRow_(timeline.first),
        steps_(timeline.last - timeline.first),
        ends_(store, timeline.host, timeline.first, timeline.last),
        rules_(store, ends_, medianSpanNs(store)),
        host_(timeline.host),
        walk_(timeline.host) {}
  // The rules refer to the ends.
  StepIdleNotes(const StepIdleNotes&) = delete;
  StepIdleNotes& operator=(const StepIdleNotes&) = delete;

  /// Looks at the next stretches, at last at what lies in none. Returns whether there are more.
  bool addNext() {
    const bool more = walk_.forNext(StretchWalk::kSpansAPart, [this](const Stretch& stretch) {
      rules_.apply(stretch, [this](const IdlePart& part) { note(part.span, part.idle); });
      // A part of each wait is none of the device's work: the host hears late that it is done.
      const std::int64_t lateNs =
          std::min(stretch.closing.ns(), kNearZeroWaitNs) - ends_.emptyWaitNs(stretch);
      if (!stretch.work.empty()) note(stretch.work.back(), {0, 0, toMs(lateNs)});
    });
    if (!more) noteOpenEnds();
    return more;
  }

  /// What was noted of the step of a row. Precondition: the row is in the timeline.
  [[nodiscard]] const StepIdle& ofRow(std::size_t row) const { return steps_[row - firstRow_]; }

 private:
  void note(const HostSpan& span, const IdleTime& idle) {
    StepIdle& step = steps_[span.row - firstRow_];
    step.total += idle;
    step.byCause[static_cast<std::size_t>(causeOf(span.work, knowsPasses_))] += idle;
  }

  /// What the host did before the first drain, and after the last one: nothing tells when the
  /// device worked there.
  void noteOpenEnds() {
    const auto& [work, drains] = host_;
    for (const HostSpan& span : work) {
      const bool isOpen = drains.empty() || span.beginNs < drains.front().beginNs ||
                          span.beginNs >= drains.back().endNs;
      if (isOpen) note(span, {0, 0, toMs(span.ns())});
    }
  }

  bool knowsPasses_;
  std::size_t firstRow_;
  std::vector<StepIdle> steps_;
  DeviceEnds ends_;
  IdleRules rules_;
  const HostTimeline& host_;
  StretchWalk walk_;
};

}  // namespace

std::string_view idleCauseName(IdleCause cause) {
  constexpr std::array<std::string_view, kIdleCauses> kNames = {
      "batch assembly", "device move", "a fallback's CPU time", "reading values",
      "queueing ops",   "evaluation",  "between steps",         "work outside of phases"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::string_view idleCauseKey(IdleCause cause) {
  constexpr std::array<std::string_view, kIdleCauses> kKeys = {
      "batch_assembly", "device_move", "fallback",      "reading_values",
      "queueing",       "evaluation",  "between_steps", "outside_phases"};
  return kKeys[static_cast<std::size_t>(cause)];
}

Turns<IdleSummary> estimateIdleInTurns(const LiveStore& store, std::uint32_t firstStep,
                                       std::uint32_t lastStep) {
  IdleSummary summary;
  const auto& records = store.steps().records;
  if (!store.hasQueue() || records.size() < 3) co_return summary;
  const auto rowAfter = [&](auto&& isBefore) {
    const auto at = std::partition_point(records.begin(), records.end(), isBefore);
    return static_cast<std::size_t>(at - records.begin());
  };
  // The first step is not counted, and the last has no next one.
  const std::size_t first =
      std::max<std::size_t>(rowAfter([&](const auto& each) { return each.step() < firstStep; }), 1);
  const std::size_t last = std::min(
      rowAfter([&](const auto& each) { return each.step() <= lastStep; }), records.size() - 1);
  if (first >= last) co_return summary;
  const RangeTimeline timeline(store, first, last);
  co_await NextTurn{};
  StepIdleNotes notes(store, timeline);
  co_await NextTurn{};
  while (notes.addNext()) co_await NextTurn{};
  std::vector<double> windows;
  windows.reserve(last - first);
  summary.steps.reserve(last - first);
  for (std::size_t row = first; row < last; ++row) {
    StepIdle step = notes.ofRow(row);
    step.step = records[row].step();
    step.ms = toMs(records[row + 1].begin_ns() - records[row].begin_ns());
    // A wait counts for the step before it, though it may lie in the next one.
    for (double* each : {&step.total.low, &step.total.probable, &step.total.high}) {
      *each = std::min(*each, step.ms);
    }
    windows.push_back(step.ms);
    summary.steps.push_back(step);
  }
  summary.stepMsP50 = medianOf(std::move(windows));
  summary.p50 =
      medians(summary.steps, [](const StepIdle& step) -> const IdleTime& { return step.total; });
  summary.causes = causesOf(summary.steps);
  co_return summary;
}

IdleSummary estimateIdle(const LiveStore& store, std::uint32_t firstStep, std::uint32_t lastStep) {
  return estimateIdleInTurns(store, firstStep, lastStep).finish();
}

}  // namespace highwater::analysis

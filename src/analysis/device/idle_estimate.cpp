#include "analysis/device/idle_estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

IdleCause causeOf(HostWork work) {
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
    case HostWork::Queueing:
    case HostWork::InStep:
      break;
  }
  return IdleCause::Queueing;
}

/// Whether this work never queues anything.
bool queuesNothing(HostWork work) {
  return work == HostWork::BatchAssembly || work == HostWork::DeviceMove ||
         work == HostWork::Fallback;
}

class Estimator {
 public:
  Estimator(const LiveStore& store, const HostTimeline& timeline)
      : ends_(store, timeline), steps_(store.steps().records.size()) {
    medianSpanNs_ = static_cast<std::int64_t>(medianOf(knownSpans(store)) * kNsPerMs);
    hasPhases_ = !store.phases().empty();
    timeline.forEachStretch([this](const Stretch& stretch) { add(stretch); });
  }

  [[nodiscard]] std::vector<StepIdle>& steps() { return steps_; }

 private:
  static std::vector<double> knownSpans(const LiveStore& store) {
    std::vector<double> known;
    for (std::size_t row = 0; row < store.steps().records.size(); ++row) {
      const double ms = store.steps().deviceMs[row];
      if (!std::isnan(ms)) known.push_back(ms);
    }
    return known;
  }

  /// In a run with phases, a step queues ops only in them.
  [[nodiscard]] bool surelyQueuesNothing(HostWork work) const {
    const bool outside = work == HostWork::InStep || work == HostWork::BetweenSteps;
    return queuesNothing(work) || (outside && hasPhases_);
  }

  /// The range [first, last) of the spans in which the host certainly queued something.
  static std::pair<std::size_t, std::size_t> queueing(const Stretch& stretch) {
    const auto range = [&stretch](auto&& queues) {
      const auto& work = stretch.work;
      const auto first = std::find_if(work.begin(), work.end(), queues);
      const auto last = std::find_if(work.rbegin(), work.rend(), queues);
      return std::pair(static_cast<std::size_t>(first - work.begin()),
                       static_cast<std::size_t>(work.rend() - last));
    };
    const auto is = [&](HostWork which) {
      return range([which](const HostSpan& span) { return span.work == which; });
    };
    const auto none = std::pair(stretch.work.size(), std::size_t{0});
    if (const auto found = is(HostWork::Queueing); found != none) return found;
    // A run without phases; or values read between steps, which must have been queued there.
    if (const auto found = is(HostWork::InStep); found != none && stretch.closing.readsValues) {
      return found;
    }
    if (!stretch.closing.readsValues) return none;
    return range([](const HostSpan& span) { return !queuesNothing(span.work); });
  }

  void add(const Stretch& stretch) {
    const auto [first, last] = queueing(stretch);
    const bool none = first >= last;
    const std::size_t head = none ? stretch.work.size() : first;
    addHead(stretch.work.first(head), none && stretch.closing.ns() > kNearZeroWaitNs);
    if (none) return;
    const HostSpan& lastQueued = stretch.work[last - 1];
    const End end = deviceEnd(stretch, lastQueued);
    const bool starved = end.ns - lastQueued.endNs <= kNearZeroWaitNs;
    for (const HostSpan& span : stretch.work.subspan(first, last - first)) {
      const double ms = toMs(span.ns());
      note(span, {0, starved ? ms / 2 : 0, ms});
    }
    addTail(stretch.work.subspan(last), end);
    // The device finished long before the wait, so the reason of the wait is unknown.
    const bool idleInWait = end.ns < stretch.closing.beginNs && end.ns > lastQueued.endNs;
    if (idleInWait) note(stretch.work.back(), {0, 0, toMs(stretch.closing.ns())});
  }

  /// The part before the first queued op. `queuedUnseen`: a wait shows that something was queued.
  void addHead(std::span<const HostSpan> work, bool queuedUnseen) {
    bool sure = true;
    for (const HostSpan& span : work) {
      sure = sure && surelyQueuesNothing(span.work);
      const double ms = toMs(span.ns());
      note(span, {sure ? ms : 0, !sure && queuedUnseen ? 0 : ms, ms});
    }
  }

  /// The time at which the device finished. `sure`: measured; else it may be as early as the end of
  /// the last queueing span.
  struct End {
    std::int64_t ns = 0;
    bool sure = false;
  };

  [[nodiscard]] End deviceEnd(const Stretch& stretch, const HostSpan& last) const {
    if (const auto known = ends_.of(stretch, last)) return {*known, true};
    const std::int64_t thoughtNs = stretch.work.front().beginNs + medianSpanNs_;
    return {std::clamp(thoughtNs, last.endNs, std::max(last.endNs, stretch.closing.endNs)), false};
  }

  /// The part after the last queued op, while the device works.
  void addTail(std::span<const HostSpan> work, const End& end) {
    bool sure = end.sure;
    for (const HostSpan& span : work) {
      sure = sure && surelyQueuesNothing(span.work);
      const double idle =
          toMs(std::max<std::int64_t>(span.endNs - std::max(end.ns, span.beginNs), 0));
      note(span, {sure ? idle : 0, idle, end.sure ? idle : toMs(span.ns())});
    }
  }

  void note(const HostSpan& span, const IdleTime& idle) {
    StepIdle& step = steps_[span.row];
    step.total += idle;
    step.byCause[static_cast<std::size_t>(causeOf(span.work))] += idle;
  }

  DeviceEnds ends_;
  bool hasPhases_ = false;
  std::vector<StepIdle> steps_;
  std::int64_t medianSpanNs_ = 0;
};

template <typename Of>
IdleTime medians(const std::vector<StepIdle>& steps, Of&& of) {
  std::vector<double> low, probable, high;
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
    CauseOfIdle cause{static_cast<IdleCause>(i), medians(steps, of), {}};
    for (const StepIdle& step : steps) cause.total += of(step);
    if (cause.total.high > 0) causes.push_back(cause);
  }
  std::sort(causes.begin(), causes.end(), [](const CauseOfIdle& a, const CauseOfIdle& b) {
    return a.p50.probable != b.p50.probable ? a.p50.probable > b.p50.probable
                                            : a.total.probable > b.total.probable;
  });
  return causes;
}

}  // namespace

std::string_view idleCauseName(IdleCause cause) {
  constexpr std::array<std::string_view, kIdleCauses> kNames = {
      "batch assembly", "device move", "a fallback's CPU time", "reading values",
      "queueing ops",   "evaluation",  "between steps"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::string_view idleCauseKey(IdleCause cause) {
  constexpr std::array<std::string_view, kIdleCauses> kKeys = {
      "batch_assembly", "device_move", "fallback",     "reading_values",
      "queueing",       "evaluation",  "between_steps"};
  return kKeys[static_cast<std::size_t>(cause)];
}

IdleSummary estimateIdle(const LiveStore& store, std::uint32_t firstStep, std::uint32_t lastStep) {
  IdleSummary summary;
  const auto& records = store.steps().records;
  if (!store.hasQueue() || records.size() < 3) return summary;
  Estimator estimator(store, makeHostTimeline(store));
  std::vector<double> windows;
  // The last step has no next one.
  for (std::size_t row = 1; row + 1 < records.size(); ++row) {
    if (records[row].step() < firstStep || records[row].step() > lastStep) continue;
    StepIdle step = estimator.steps()[row];
    step.step = records[row].step();
    step.ms = toMs(records[row + 1].begin_ns() - records[row].begin_ns());
    windows.push_back(step.ms);
    summary.steps.push_back(step);
  }
  summary.stepMsP50 = medianOf(std::move(windows));
  summary.p50 =
      medians(summary.steps, [](const StepIdle& step) -> const IdleTime& { return step.total; });
  summary.causes = causesOf(summary.steps);
  return summary;
}

}  // namespace highwater::analysis

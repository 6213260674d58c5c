#include "analysis/device/idle_estimate.h"

#include <algorithm>
#include <cmath>

#include "analysis/device/idle_parts.h"
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

class Estimator {
 public:
  Estimator(const LiveStore& store, const HostTimeline& timeline)
      : steps_(store.steps().records.size()) {
    const DeviceEnds ends(store, timeline);
    const auto medianSpanNs = static_cast<std::int64_t>(medianOf(knownSpans(store)) * kNsPerMs);
    const IdleRules rules(ends, !store.phases().empty(), medianSpanNs);
    timeline.forEachStretch([&](const Stretch& stretch) {
      rules.apply(stretch, [this](const IdlePart& part) { note(part.span, part.idle); });
    });
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

  void note(const HostSpan& span, const IdleTime& idle) {
    StepIdle& step = steps_[span.row];
    step.total += idle;
    step.byCause[static_cast<std::size_t>(causeOf(span.work))] += idle;
  }

  std::vector<StepIdle> steps_;
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

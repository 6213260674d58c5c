#include "analysis/device/phase_execution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/device/idle_parts.h"
#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

using events::Phase;

constexpr double kFurthestBounds = 2;  // largest useful ratio of the bounds

/// A set of phases.
using Mask = std::uint8_t;
constexpr Mask bit(Phase phase) {
  return static_cast<Mask>(1U << static_cast<unsigned>(phase));
}
constexpr std::array kSets = {bit(Phase::Forward), bit(Phase::Backward), bit(Phase::OptimizerStep),
                              static_cast<Mask>(bit(Phase::Forward) | bit(Phase::Backward)),
                              static_cast<Mask>(bit(Phase::Backward) | bit(Phase::OptimizerStep))};

/// The part of a stretch that belongs to one step.
struct ExecutedPart {
  Mask phases = 0;
  std::int64_t lowNs = 0, highNs = 0;
};

struct StepParts {
  std::vector<ExecutedPart> parts;
  std::map<Phase, std::int64_t> queuedNs;
  std::int64_t hostNs = 0;  ///< without waits, fallbacks and batch assembly
  std::optional<std::int64_t> leadNs;
};

class Collector {
 public:
  /// Of the steps [first, last).
  Collector(const LiveStore& store, std::size_t first, std::size_t last)
      : Collector(store, first, last, makeHostTimeline(store, first, last)) {}

  Collector(const LiveStore& store, std::size_t first, std::size_t last,
            const HostTimeline& timeline)
      : first_(first),
        beginsAtOnce_(workStartOf(store) == WorkStart::kEager),
        ends_(store, timeline, first, last),
        steps_(last - first) {
    for (const HostSpan& span : timeline.work) addHostTime(span);
    timeline.forEachStretch([this](const Stretch& stretch) { add(stretch); });
  }

  [[nodiscard]] const std::vector<StepParts>& steps() const { return steps_; }

 private:
  void addHostTime(const HostSpan& span) {
    const bool inStep = span.work != HostWork::BetweenSteps && span.work != HostWork::Evaluation;
    if (!inStep || span.work == HostWork::BatchAssembly || span.work == HostWork::Fallback) return;
    at(span.row).hostNs += span.ns();
    if (span.work == HostWork::Queueing) at(span.row).queuedNs[span.phase] += span.ns();
  }

  void add(const Stretch& stretch) {
    const HostSpan* first = nullptr;
    const HostSpan* last = nullptr;
    std::map<std::size_t, Mask> phases;
    for (const HostSpan& span : stretch.work) {
      if (span.work != HostWork::Queueing) continue;
      if (!first) first = &span;
      last = &span;
      phases[span.row] |= bit(span.phase);
    }
    if (!first) return;
    const std::optional<std::int64_t> endNs = ends_.of(stretch, *last);
    const std::int64_t workedFromNs = workedFrom(stretch, *last);
    if (endNs) noteLead(last->row, std::max<std::int64_t>(*endNs - workedFromNs, 0));
    // Several steps without a wait between them cannot be told apart.
    const std::int64_t lowNs =
        endNs && phases.size() == 1 ? std::max<std::int64_t>(*endNs - workedFromNs, 0) : 0;
    const bool keptUp = !endNs || *endNs == last->endNs;
    const std::int64_t highNs = (keptUp ? stretch.closing.endNs : *endNs) - first->beginNs;
    for (const auto& [row, mask] : phases) at(row).parts.push_back({mask, lowNs, highNs});
  }

  /// From when on the device surely works at what was queued last, up to its end: from its queueing
  /// on, or where it may begin later, from the commit at the end of the step or at the wait.
  [[nodiscard]] std::int64_t workedFrom(const Stretch& stretch, const HostSpan& last) const {
    if (beginsAtOnce_) return last.endNs;
    for (const HostSpan& span : stretch.work) {
      if (span.beginNs >= last.endNs && ends_.commits(last.row, span.row, last.endNs, span.beginNs))
        return span.beginNs;
    }
    return stretch.closing.beginNs;
  }

  void noteLead(std::size_t row, std::int64_t ns) {
    at(row).leadNs = std::max(at(row).leadNs.value_or(0), ns);
  }

  StepParts& at(std::size_t row) { return steps_[std::min(row - first_, steps_.size() - 1)]; }

  std::size_t first_;
  bool beginsAtOnce_;
  DeviceEnds ends_;
  std::vector<StepParts> steps_;
};

/// The bounds of one step for a set of phases.
struct Bounds {
  std::int64_t queuedNs = 0, lowNs = 0, highNs = 0;
  bool apart = true;  ///< waits separate the set from the other phases
};

Bounds boundsOf(const StepParts& step, Mask set) {
  Bounds bounds;
  for (const auto& [phase, ns] : step.queuedNs) {
    if (bit(phase) & set) bounds.queuedNs += ns;
  }
  for (const ExecutedPart& part : step.parts) {
    if ((part.phases & set) == 0) continue;
    bounds.highNs += part.highNs;
    if ((part.phases & ~set) == 0) {
      bounds.lowNs += part.lowNs;
    } else {
      bounds.apart = false;
    }
  }
  return bounds;
}

/// std::nullopt if the set was never queued.
std::optional<PhaseExecution> executionOf(std::span<const StepParts> steps, Mask set) {
  std::vector<Bounds> all, close, apart;
  for (const StepParts& step : steps) {
    const Bounds bounds = boundsOf(step, set);
    if (bounds.highNs == 0) continue;
    all.push_back(bounds);
    const auto low = static_cast<double>(bounds.lowNs);
    if (static_cast<double>(bounds.highNs) <= kFurthestBounds * low) close.push_back(bounds);
    if (bounds.apart) apart.push_back(bounds);
  }
  if (all.empty()) return std::nullopt;
  const std::vector<Bounds>& used = !close.empty() ? close : !apart.empty() ? apart : all;
  const auto median = [&used](std::int64_t Bounds::*which) {
    std::vector<double> values;
    for (const Bounds& each : used) values.push_back(toMs(each.*which));
    return medianOf(std::move(values));
  };
  PhaseExecution execution;
  for (const Phase phase : {Phase::Forward, Phase::Backward, Phase::OptimizerStep}) {
    if (bit(phase) & set) execution.phases.push_back(phase);
  }
  execution.steps = used.size();
  execution.queuedMs = median(&Bounds::queuedNs);
  if (!close.empty()) execution.lowMs = median(&Bounds::lowNs);
  if (!close.empty() || !apart.empty()) execution.highMs = median(&Bounds::highNs);
  return execution;
}

/// Single phases, and pairs of which only the sum is known.
std::vector<PhaseExecution> executions(std::span<const StepParts> steps) {
  std::vector<PhaseExecution> found;
  Mask known = 0;
  for (const Mask set : kSets) {
    const std::optional<PhaseExecution> execution = executionOf(steps, set);
    if (!execution) continue;
    const bool isPair = execution->phases.size() > 1;
    if (isPair && (!execution->lowMs || (known & set) != 0)) continue;
    if (execution->lowMs) known |= set;
    found.push_back(*execution);
  }
  return found;
}

std::optional<HostLead> leadOf(std::span<const StepParts> steps, std::optional<double> deviceMs) {
  std::vector<double> leads;
  for (const StepParts& step : steps) {
    if (step.leadNs) leads.push_back(toMs(*step.leadNs));
  }
  if (leads.empty()) return std::nullopt;
  HostLead lead;
  lead.steps = leads.size();
  lead.maxMs = *std::max_element(leads.begin(), leads.end());
  lead.p50Ms = medianOf(std::move(leads));
  if (deviceMs && *deviceMs > 0) {
    lead.p50Steps = lead.p50Ms / *deviceMs;
    lead.maxSteps = lead.maxMs / *deviceMs;
  }
  return lead;
}

}  // namespace

ExecutionSummary summarizeExecution(const LiveStore& store) {
  const std::size_t rows = store.steps().records.size();
  // The first step allocates and compiles. Its work is read, because the next one waits for it.
  return rows < 2 ? ExecutionSummary{} : summarizeExecution(store, 1, rows);
}

ExecutionSummary summarizeExecution(const LiveStore& store, std::size_t first, std::size_t last) {
  ExecutionSummary summary;
  if (!store.hasQueue() || first >= last) return summary;
  // From a step before, because a stretch of host work may begin there.
  const std::size_t from = first - std::min<std::size_t>(first, 1);
  const Collector collector(store, from, last);
  const auto steps = std::span(collector.steps()).subspan(first - from);
  summary.steps = steps.size();
  std::vector<double> queued, device;
  for (std::size_t row = first; row < last; ++row) {
    queued.push_back(toMs(steps[row - first].hostNs));
    const double deviceMs = store.steps().deviceMs[row];
    if (!std::isnan(deviceMs)) device.push_back(deviceMs);
  }
  summary.stepQueuedMs = medianOf(std::move(queued));
  if (!device.empty()) summary.stepDeviceMs = medianOf(std::move(device));
  summary.phases = executions(steps);
  summary.lead = leadOf(steps, summary.stepDeviceMs);
  return summary;
}

}  // namespace highwater::analysis

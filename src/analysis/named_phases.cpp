#include "analysis/named_phases.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/names.h"

namespace highwater::analysis {
namespace {

constexpr double kMuchOutside = 0.5;  ///< share of the steps from which naming it is advised

void addWaits(const LiveStore& store, const Span& span, EvaluationTotal& total) {
  const SpanIndex& lane = store.syncLane();
  for (std::size_t i = lane.firstFrom(span.beginNs);
       i < lane.size() && lane[i].beginNs < span.endNs; ++i) {
    ++total.waits;
    total.waitNs += lane[i].endNs - lane[i].beginNs;
  }
}

}  // namespace

bool isEvaluation(const LiveStore& store, const events::NamedSpan& span) {
  return store.name(span.name()) == kEvaluationSpan;
}

const events::NamedSpan* namedSpanAt(const LiveStore& store, std::int64_t ns) {
  const SpanIndex& lane = store.namedLane();
  const auto found = lane.at(ns, 0);
  if (!found || ns < lane[*found].beginNs || ns >= lane[*found].endNs) return nullptr;
  return &store.namedSpans()[lane[*found].payload];
}

bool namesPhases(const LiveStore& store) {
  const auto& spans = store.namedSpans();
  return std::any_of(spans.begin(), spans.end(),
                     [&](const events::NamedSpan& span) { return !isEvaluation(store, span); });
}

NamedPhases summarizeNamedPhases(const LiveStore& store) {
  NamedPhases all;
  std::map<NameId, NamedPhase> byName;
  std::optional<std::uint32_t> lastStep;
  const SpanIndex& lane = store.namedLane();
  for (std::size_t i = 0; i < lane.size(); ++i) {
    const events::NamedSpan& span = store.namedSpans()[lane[i].payload];
    const std::uint64_t begun = span.continued() == 0;
    if (!isEvaluation(store, span)) {
      NamedPhase& phase = byName[span.name()];
      phase.count += begun;
      phase.totalNs += span.duration_ns();
      continue;
    }
    all.evaluation.count += lastStep != span.step();
    lastStep = span.step();
    all.evaluation.totalNs += span.duration_ns();
    addWaits(store, lane[i], all.evaluation);
  }
  for (auto& [name, phase] : byName) {
    phase.name = store.name(name);
    all.phases.push_back(std::move(phase));
  }
  std::stable_sort(all.phases.begin(), all.phases.end(),
                   [](const NamedPhase& a, const NamedPhase& b) { return a.totalNs > b.totalNs; });
  return all;
}

double shareOutsidePhases(const RunSummary& summary) {
  if (summary.stepsMs <= 0) return 0;
  const double inPhases = std::accumulate(summary.phaseMs.begin(), summary.phaseMs.end(), 0.0);
  return std::max(1 - inPhases / summary.stepsMs, 0.0);
}

std::string_view phaseNamingHint(const LiveStore& store, const RunSummary& summary) {
  if (!store.ownScript() || shareOutsidePhases(summary) < kMuchOutside || namesPhases(store)) {
    return {};
  }
  return "To see what it is, name parts of the script: with highwater.phase(\"augment\"):";
}

}  // namespace highwater::analysis

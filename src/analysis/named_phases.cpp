#include "analysis/named_phases.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/names.h"

namespace highwater::analysis {
namespace {

constexpr double kMuchOutside = 0.5;  ///< share of the steps from which naming it is advised

}  // namespace

bool isEvaluation(const LiveStore& store, const events::NamedSpan& span) {
  return store.name(span.name()) == kEvaluationSpan;
}

NameKind nameKind(const LiveStore& store, std::string_view name) {
  if (name == kEvaluationSpan) return NameKind::Evaluation;
  // A script may call a phase of its own "checkpoint".
  const bool isOurs = store.ownScript() ? name == kOwnWorkSpan
                                        : name == kCheckpointSpan || name == kCheckpointWaitSpan;
  if (isOurs) return NameKind::Highwater;
  return name == kLoaderStartSpan ? NameKind::LoaderStart : NameKind::Own;
}

const events::NamedSpan* namedSpanAt(const LiveStore& store, std::int64_t ns) {
  const SpanIndex& lane = store.namedLane();
  const auto found = lane.at(ns, 0);
  if (!found || ns < lane[*found].beginNs || ns >= lane[*found].endNs) return nullptr;
  return &store.namedSpans()[lane[*found].payload];
}

bool namesPhases(const LiveStore& store) {
  const auto& spans = store.namedSpans();
  return std::any_of(spans.begin(), spans.end(), [&](const events::NamedSpan& span) {
    return nameKind(store, store.name(span.name())) == NameKind::Own;
  });
}

std::vector<NamedPhase> summarizeNamedPhases(const LiveStore& store) {
  std::map<std::string, NamedPhase> byName;  // a name has an id for each place
  for (const events::NamedSpan& span : store.namedSpans()) {
    const std::string& name = store.name(span.name());
    if (nameKind(store, name) != NameKind::Own) continue;
    NamedPhase& phase = byName[name];
    phase.count += span.continued() == 0 ? 1 : 0;
    phase.totalNs += span.duration_ns();
  }
  std::vector<NamedPhase> phases;
  for (auto& [name, phase] : byName) {
    phase.name = name;
    phases.push_back(std::move(phase));
  }
  std::stable_sort(phases.begin(), phases.end(),
                   [](const NamedPhase& a, const NamedPhase& b) { return a.totalNs > b.totalNs; });
  return phases;
}

double shareOutsidePhases(const RunSummary& summary) {
  if (summary.stepsMs <= 0) return 0;
  const double inPhases = std::accumulate(summary.phaseMs.begin(), summary.phaseMs.end(), 0.0);
  return std::max(1 - inPhases / summary.stepsMs, 0.0);
}

std::string_view phaseNamingHint(const LiveStore& store, const RunSummary& summary) {
  // Waits are reported with lines of their own.
  const double waits = (summary.plannedSyncMs + summary.unplannedSyncMs) / summary.stepsMs;
  const double unknown = shareOutsidePhases(summary) - waits;
  if (!store.ownScript() || !(unknown >= kMuchOutside) || namesPhases(store)) return {};
  return "To see what it is, put a part of the script into a with highwater.phase(\"augment\") "
         "block";
}

}  // namespace highwater::analysis

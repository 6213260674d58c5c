#include "analysis/run_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "core/names.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr TimeRange kWholeRun{std::numeric_limits<std::int64_t>::min(),
                              std::numeric_limits<std::int64_t>::max()};

double toMs(std::int64_t ns) {
  return static_cast<double>(ns) / kNsPerMs;
}

/// The smallest value that at least `percent` % of the values do not exceed. Reorders `values`.
template <typename T>
T nearestRank(std::vector<T>& values, std::size_t percent) {
  if (values.empty()) return 0;
  const std::size_t rank = (values.size() * percent + 99) / 100;
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// The rows of sorted `timesNs` that lie in the range.
std::pair<std::size_t, std::size_t> rowsIn(const std::vector<std::int64_t>& timesNs,
                                           const TimeRange& range) {
  const auto first = std::lower_bound(timesNs.begin(), timesNs.end(), range.beginNs);
  const auto last = std::lower_bound(first, timesNs.end(), range.endNs);
  return {first - timesNs.begin(), last - timesNs.begin()};
}

/// Calls f(span) for each span of the lane that begins in the range.
template <typename F>
void forEachBeginningIn(const SpanIndex& lane, const TimeRange& range, F&& f) {
  const auto [first, last] = lane.touching(range.beginNs, range.endNs);
  for (std::size_t i = first; i < last; ++i) {
    if (lane[i].beginNs >= range.beginNs) f(lane[i]);
  }
}

void addSteps(const LiveStore& store, const TimeRange& range, RunSummary& summary) {
  std::vector<std::int64_t> durations;
  std::uint64_t tokens = 0;
  std::int64_t totalNs = 0;
  bool allExact = true;
  forEachBeginningIn(store.steps().lane, range, [&](const Span& span) {
    if (span.endNs > range.endNs) return;
    const events::StepRecord& step = store.steps().records[span.payload];
    if (durations.empty()) summary.firstStep = step.step();
    summary.lastStep = step.step();
    durations.push_back(step.duration_ns());
    tokens += step.tokens();
    totalNs += step.duration_ns();
    if (step.loss_read() != 0) {
      if (!summary.lossFirst) summary.lossFirst = step.loss();
      summary.lossLast = step.loss();
    }
    summary.currentPeakBytes = std::max(summary.currentPeakBytes, step.peak_current_bytes());
    summary.driverPeakBytes = std::max(summary.driverPeakBytes, step.peak_driver_bytes());
    allExact = allExact && step.peak_current_exact() != 0;
  });
  summary.steps = durations.size();
  summary.currentPeakExact = allExact && !durations.empty();
  if (totalNs > 0) {
    summary.tokensPerS = static_cast<double>(tokens) / (static_cast<double>(totalNs) / kNsPerS);
  }
  summary.stepMsP50 = toMs(nearestRank(durations, 50));
  summary.stepMsP95 = toMs(nearestRank(durations, 95));
}

/// After addSteps(): a sample may lie above every step's peak, outside of the steps.
void addMemory(const LiveStore& store, const TimeRange& range, RunSummary& summary) {
  const MemoryColumns& memory = store.memory();
  if (store.hello()) summary.recommendedBytes = store.hello()->limits.recommendedBytes;
  const auto [first, last] = rowsIn(memory.timesNs, range);
  if (first == last) return;
  const auto current = static_cast<std::uint64_t>(memory.current.minMax(first, last).max);
  if (current > summary.currentPeakBytes) {
    summary.currentPeakBytes = current;
    summary.currentPeakExact = false;
  }
  const auto driver = static_cast<std::uint64_t>(memory.driver.minMax(first, last).max);
  summary.driverPeakBytes = std::max(summary.driverPeakBytes, driver);
  summary.recommendedBytes = static_cast<std::uint64_t>(memory.recommended[last - 1]);
}

void addGpu(const LiveStore& store, const TimeRange& range, RunSummary& summary) {
  const SystemColumns& system = store.system();
  const auto [first, last] = rowsIn(system.timesNs, range);
  std::vector<double> known;
  for (std::size_t row = first; row < last; ++row) {
    if (!std::isnan(system.gpuPercent[row])) known.push_back(system.gpuPercent[row]);
  }
  if (known.empty()) return;
  summary.gpuPercentP50 = nearestRank(known, 50);
  summary.gpuPercentMax = *std::max_element(known.begin(), known.end());
}

void addPhases(const LiveStore& store, const TimeRange& range, RunSummary& summary) {
  forEachBeginningIn(store.phaseLane(), range, [&](const Span& span) {
    const events::PhaseSpan& phase = store.phases()[span.payload];
    const auto index = static_cast<std::size_t>(phase.phase());
    if (index < summary.phaseMs.size()) summary.phaseMs[index] += toMs(phase.duration_ns());
  });
}

/// What is one line of the totals: op, kind of sync, phase, module.
using OpKey = std::tuple<NameId, events::SyncKind, events::Phase, ModuleId>;

std::vector<OpTotal> totalsOf(const LiveStore& store, std::map<OpKey, OpTotal>&& byKey) {
  std::vector<OpTotal> totals;
  for (auto& [key, total] : byKey) {
    const auto& [op, kind, phase, module] = key;
    total.op = store.name(op);
    total.kind = kind;
    total.where = phaseName(phase);
    if (const std::string path = store.modulePath(module); !path.empty()) {
      total.where += ", " + path;
    }
    totals.push_back(std::move(total));
  }
  std::stable_sort(totals.begin(), totals.end(),
                   [](const OpTotal& a, const OpTotal& b) { return a.totalNs > b.totalNs; });
  return totals;
}

void addSyncPoints(const LiveStore& store, const TimeRange& range, RunSummary& summary) {
  std::map<OpKey, OpTotal> byKey;
  forEachBeginningIn(store.syncLane(), range, [&](const Span& span) {
    const events::SyncPoint& sync = store.syncPoints()[span.payload];
    OpTotal& total = byKey[{sync.op(), sync.kind(), sync.phase(), sync.module_id()}];
    total.deliberate = (total.count == 0 || total.deliberate) && sync.deliberate() != 0;
    ++total.count;
    total.totalNs += sync.duration_ns();
    total.bytes += sync.bytes();
    if (isUnplanned(sync)) summary.unplannedSyncMs += toMs(sync.duration_ns());
  });
  summary.syncPoints = totalsOf(store, std::move(byKey));
}

void addFallbacks(const LiveStore& store, const TimeRange& range, RunSummary& summary) {
  std::map<OpKey, OpTotal> byKey;
  forEachBeginningIn(store.fallbackLane(), range, [&](const Span& span) {
    const events::FallbackEvent& fallback = store.fallbacks()[span.payload];
    OpTotal& total =
        byKey[{fallback.op(), events::SyncKind::None, fallback.phase(), fallback.module_id()}];
    ++total.count;
    total.totalNs += fallback.duration_ns();
    total.bytes += fallback.bytes_to_cpu() + fallback.bytes_to_device();
    summary.fallbackMs += toMs(fallback.duration_ns());
  });
  summary.fallbacks = totalsOf(store, std::move(byKey));
}

}  // namespace

RunSummary summarize(const LiveStore& store, std::optional<TimeRange> given) {
  const TimeRange range = given.value_or(kWholeRun);
  RunSummary summary;
  addSteps(store, range, summary);
  addMemory(store, range, summary);
  addGpu(store, range, summary);
  addPhases(store, range, summary);
  addSyncPoints(store, range, summary);
  addFallbacks(store, range, summary);
  for (const events::Evaluation& evaluation : store.evaluations()) {
    if (evaluation.time_ns() >= range.beginNs && evaluation.time_ns() < range.endNs) {
      summary.heldOutAccuracy = evaluation.accuracy();
    }
  }
  return summary;
}

}  // namespace highwater::analysis

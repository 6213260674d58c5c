#include "analysis/findings/findings.h"

#include <algorithm>
#include <limits>

#include "analysis/findings/finding_rules.h"
#include "analysis/statistics.h"
#include "analysis/whole_steps.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

std::uint64_t recommendedBytes(const LiveStore& store) {
  const auto& sampled = store.memory().recommended;
  const std::size_t rows = store.memory().timesNs.size();
  if (rows > 0) return static_cast<std::uint64_t>(sampled[rows - 1]);
  return store.hello() ? store.hello()->limits.recommendedBytes : 0;
}

}  // namespace

std::string_view findingKey(FindingKind kind) {
  switch (kind) {
    case FindingKind::NearLimit:
      return "near_limit";
    case FindingKind::Fallback:
      return "fallback";
    case FindingKind::ChattyLogging:
      return "chatty_logging";
    case FindingKind::SyncPoint:
      return "sync_point";
    case FindingKind::HostBound:
      return "host_bound";
    case FindingKind::MemoryGrowth:
      return "memory_growth";
    case FindingKind::ShapeGrowth:
      return "shape_growth";
  }
  return "";
}

std::string costText(double ms) {
  return formatMs(ms) + " a step";
}

const events::StepRecord* CheckedSteps::holding(std::uint32_t step, std::int64_t beginNs) const {
  const auto found = std::partition_point(
      records.begin(), records.end(),
      [step](const events::StepRecord& record) { return record.step() < step; });
  if (found == records.end() || found->step() != step) return nullptr;
  const bool within =
      beginNs >= found->begin_ns() && beginNs < found->begin_ns() + found->duration_ns();
  return within ? &*found : nullptr;
}

TimeRange CheckedSteps::timeRange() const {
  if (!ofRange) {
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
  return {records.front().begin_ns(), records.back().begin_ns() + records.back().duration_ns()};
}

double CheckedSteps::perStepMs(std::int64_t totalNs) const {
  return static_cast<double>(totalNs) / kNsPerMs / static_cast<double>(records.size());
}

Finding CheckedSteps::ofTime(FindingKind kind, double costMs) const {
  Finding finding;
  finding.kind = kind;
  finding.costMs = costMs;
  finding.weight = medianMs > 0 ? std::min(costMs / medianMs, 1.0) : 0;
  finding.firstStep = records.front().step();
  finding.lastStep = records.back().step();
  return finding;
}

Finding CheckedSteps::ofGrowth(FindingKind kind, double costBytes) const {
  Finding finding = ofTime(kind, 0);
  finding.costMs.reset();
  finding.costBytes = costBytes;
  const auto limit = static_cast<double>(recommendedBytes(store));
  // Without a known limit the finding ranks last.
  finding.weight = limit > 0 ? std::min(costBytes * kGrowthHorizonSteps / limit, 1.0) : 0;
  return finding;
}

bool isUnobserved(const LiveStore& store) {
  return store.probeLevel() == events::ProbeLevel::Off && store.phases().empty();
}

Findings findProblems(const LiveStore& store, std::optional<TimeRange> range) {
  Findings findings;
  findings.ofRange = range.has_value();
  findings.unobserved = isUnobserved(store);
  const std::span<const events::StepRecord> all = store.steps().records;
  if (all.size() <= kLeastSteps) return findings;
  std::size_t first = 1, last = all.size();
  if (range) {
    const StepRows whole = wholeStepsIn(store, *range);
    first = std::max<std::size_t>(whole.first, 1);
    last = whole.last;
  }
  if (last < first + kLeastSteps) return findings;
  CheckedSteps steps{store, first, all.subspan(first, last - first), 0,
                     first > 1 || last < all.size()};
  std::vector<double> durations;
  for (const events::StepRecord& record : steps.records) {
    durations.push_back(toMs(record.duration_ns()));
  }
  steps.medianMs = medianOf(std::move(durations));
  findings.steps = steps.records.size();
  for (const auto rule : {&findNearLimit, &findFallbacks, &findSyncPoints, &findHostBound,
                          &findMemoryGrowth, &findShapeGrowth}) {
    rule(steps, findings);
  }
  std::stable_sort(findings.found.begin(), findings.found.end(),
                   [](const Finding& a, const Finding& b) { return a.weight > b.weight; });
  return findings;
}

}  // namespace highwater::analysis

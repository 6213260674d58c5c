#include "analysis/findings.h"

#include <algorithm>

#include "analysis/finding_rules.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr std::size_t kMostSlopePoints = 200;  // 20 000 pairs

std::vector<Point> thinned(std::span<const Point> points) {
  const std::size_t every = points.size() / kMostSlopePoints + 1;
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size(); i += every) kept.push_back(points[i]);
  return kept;
}

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
  return formatDuration(static_cast<std::int64_t>(ms * kNsPerMs)) + " a step";
}

double medianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double robustSlope(std::span<const Point> points) {
  const std::vector<Point> kept = thinned(points);
  std::vector<double> slopes;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (std::size_t j = i + 1; j < kept.size(); ++j) {
      if (kept[i].x != kept[j].x) {
        slopes.push_back((kept[j].y - kept[i].y) / (kept[j].x - kept[i].x));
      }
    }
  }
  return medianOf(std::move(slopes));
}

double steadySlope(std::span<const Point> points) {
  const std::size_t half = points.size() / 2;
  return std::min(
      {robustSlope(points), robustSlope(points.first(half)), robustSlope(points.subspan(half))});
}

const events::StepRecord* JudgedSteps::holding(std::uint32_t step, std::int64_t beginNs) const {
  const auto found = std::partition_point(
      records.begin(), records.end(),
      [step](const events::StepRecord& record) { return record.step() < step; });
  if (found == records.end() || found->step() != step) return nullptr;
  const bool within =
      beginNs >= found->begin_ns() && beginNs < found->begin_ns() + found->duration_ns();
  return within ? &*found : nullptr;
}

double JudgedSteps::perStepMs(std::int64_t totalNs) const {
  return static_cast<double>(totalNs) / kNsPerMs / static_cast<double>(records.size());
}

Finding JudgedSteps::ofTime(FindingKind kind, double costMs) const {
  Finding finding;
  finding.kind = kind;
  finding.costMs = costMs;
  finding.weight = medianMs > 0 ? std::min(costMs / medianMs, 1.0) : 0;
  finding.firstStep = records.front().step();
  finding.lastStep = records.back().step();
  return finding;
}

Finding JudgedSteps::ofGrowth(FindingKind kind, double costBytes) const {
  Finding finding = ofTime(kind, 0);
  finding.costMs.reset();
  finding.costBytes = costBytes;
  const auto limit = static_cast<double>(recommendedBytes(store));
  // Where no limit is known nothing can be said of a share: it comes behind what is known to hurt.
  finding.weight = limit > 0 ? std::min(costBytes * kGrowthHorizonSteps / limit, 1.0) : 0;
  return finding;
}

bool isUnobserved(const LiveStore& store) {
  return store.probeLevel() == events::ProbeLevel::Off && store.phases().empty();
}

Findings findProblems(const LiveStore& store) {
  Findings findings;
  findings.unobserved = isUnobserved(store);
  const std::span<const events::StepRecord> all = store.steps().records;
  if (all.size() <= kLeastJudgedSteps) return findings;
  JudgedSteps steps{store, 1, all.subspan(1), 0};
  std::vector<double> durations;
  for (const events::StepRecord& record : steps.records) {
    durations.push_back(static_cast<double>(record.duration_ns()) / kNsPerMs);
  }
  steps.medianMs = medianOf(std::move(durations));
  findings.steps = steps.records.size();
  for (const auto judge :
       {&judgeLimit, &judgeFallbacks, &judgeSyncPoints, &judgeHost, &judgeGrowth, &judgeShapes}) {
    judge(steps, findings);
  }
  std::stable_sort(findings.found.begin(), findings.found.end(),
                   [](const Finding& a, const Finding& b) { return a.weight > b.weight; });
  return findings;
}

}  // namespace highwater::analysis

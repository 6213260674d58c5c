#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/findings/finding_rules.h"
#include "analysis/memory_growth.h"
#include "analysis/op_summary.h"
#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

std::string stepsText(const Finding& finding) {
  return "steps " + std::to_string(finding.firstStep) + " to " + std::to_string(finding.lastStep);
}

/// Current allocated at the end of each step, over the step number.
std::vector<Point> currentAtEnds(const CheckedSteps& steps) {
  std::vector<Point> points;
  for (const StepEnd& end :
       currentAtStepEnds(steps.store, steps.records.front().step(), steps.records.back().step())) {
    points.push_back({static_cast<double>(end.step), end.bytes});
  }
  return points;
}

/// Limits the cost, since the window repeats the search while ops are being recorded.
constexpr std::size_t kMostCountedOps = 300'000;

/// The module whose forward keeps most memory, by the recorded ops. std::nullopt if no module keeps
/// any.
struct Keeper {
  std::string module;
  double bytes = 0;  ///< per step
};

std::optional<Keeper> keeperOf(const LiveStore& store) {
  const OpSummary ops = summarizeOps(store, kMostCountedOps);
  const auto most = std::max_element(
      ops.byModule.begin(), ops.byModule.end(),
      [](const ModuleShare& a, const ModuleShare& b) { return a.net.kept() < b.net.kept(); });
  if (most == ops.byModule.end() || most->net.kept() <= 0) return std::nullopt;
  return Keeper{most->module,
                static_cast<double>(most->net.kept()) / static_cast<double>(ops.steps)};
}

/// Driver allocated, over the number of shapes seen so far.
std::vector<Point> driverByShapes(const CheckedSteps& steps) {
  const std::vector<std::size_t> shapes = shapesOfData(steps);
  std::vector<Point> points;
  for (std::size_t row = 0; row < shapes.size(); ++row) {
    const auto driver = static_cast<double>(steps.records[row].peak_driver_bytes());
    if (driver > 0) points.push_back({static_cast<double>(shapes[row]), driver});
  }
  return points;
}

}  // namespace

void findMemoryGrowth(const CheckedSteps& steps, Findings& findings) {
  const std::vector<Point> points = currentAtEnds(steps);
  if (points.size() < 2 * kLeastSteps) return;
  if (steadySlope(points) < kLeastGrowthBytes) return;
  // Compare steps of the same shape, if shapes repeat.
  const std::optional<MemoryGrowth> growth =
      memoryGrowth(steps.store, steps.records.front().step(), steps.records.back().step());
  const double bytes = growth ? growth->slopeBytes : robustSlope(points);
  if (bytes < kLeastGrowthBytes) return;
  Finding finding = steps.ofGrowth(FindingKind::MemoryGrowth, bytes);
  finding.title =
      "Memory growth: each step leaves " + formatBytes(wholeBytes(bytes)) + " allocated";
  finding.evidence = "current at the end of a step, " + stepsText(finding) + ": " +
                     formatBytes(wholeBytes(points.front().y)) + " to " +
                     formatBytes(wholeBytes(points.back().y));
  if (growth) {
    finding.evidence += "; the median step adds " + formatBytes(wholeBytes(growth->medianBytes));
  }
  if (const std::optional<Keeper> keeper = keeperOf(steps.store)) {
    finding.where = keeper->module;
    finding.evidence += "; of forward's allocations most is kept by " +
                        (keeper->module.empty() ? "ops outside of any module" : keeper->module) +
                        ", " + formatBytes(wholeBytes(keeper->bytes)) + " a step";
  }
  finding.advice =
      "look for tensors that outlive their step: a loss in a list keeps its graph (store "
      "loss.item() "
      "or loss.detach()), and so does retain_graph";
  findings.found.push_back(std::move(finding));
}

void findShapeGrowth(const CheckedSteps& steps, Findings& findings) {
  const std::vector<Point> points = driverByShapes(steps);
  if (points.empty() || points.back().x < static_cast<double>(kLeastShapes)) return;
  if (steadySlope(points) < kLeastShapeGrowthBytes) return;
  const DriverGrowth growth = driverGrowthOf(steps);
  if (growth.knownShapeBytes > growth.newShapeBytes) return;  // fragmentation
  const double bytesAShape = robustSlope(points);
  const double shapes = points.back().x;
  const double bytes = bytesAShape * shapes / static_cast<double>(steps.records.size());
  // Growth of current allocated is another finding.
  const std::vector<Point> current = currentAtEnds(steps);
  if (!current.empty() && steadySlope(current) > bytes / 2) return;
  Finding finding = steps.ofGrowth(FindingKind::ShapeGrowth, bytes);
  finding.count = static_cast<std::uint64_t>(shapes);
  finding.title =
      "New shapes: driver memory grows by " + formatBytes(wholeBytes(bytesAShape)) + " with each";
  finding.evidence = std::to_string(finding.count) + " shapes of a batch, " + stepsText(finding) +
                     ": driver " + formatBytes(wholeBytes(points.front().y)) + " to " +
                     formatBytes(wholeBytes(points.back().y)) + " (sampled)";
  finding.advice =
      "pad to a few fixed lengths, so that compiled graphs and cached blocks are reused";
  if (steps.store.ownScript()) finding.advice += " (pad_to_multiple_of in a Hugging Face collator)";
  findings.found.push_back(std::move(finding));
}

void findNearLimit(const CheckedSteps& steps, Findings& findings) {
  const MemoryColumns& memory = steps.store.memory();
  if (memory.timesNs.empty() || !steps.store.hello()) return;
  const std::size_t rows = memory.timesNs.size();
  const double recommended = memory.recommended[rows - 1];
  const double fraction = steps.store.knobs().memoryFraction;
  const double high = fraction > 0 ? fraction : steps.store.hello()->limits.highWatermarkRatio;
  const double limit = recommended * (high > 0 ? std::min(high, 1.0) : 1.0);
  if (limit <= 0) return;
  const TimeRange range = steps.timeRange();
  const auto rowFrom = [&](std::int64_t ns) {
    return static_cast<std::size_t>(
        std::lower_bound(memory.timesNs.begin(), memory.timesNs.end(), ns) -
        memory.timesNs.begin());
  };
  const std::size_t first = rowFrom(range.beginNs), last = rowFrom(range.endNs);
  std::uint64_t peak =
      first < last ? static_cast<std::uint64_t>(memory.driver.minMax(first, last).max) : 0;
  for (const events::StepRecord& record : steps.records) {
    peak = std::max(peak, record.peak_driver_bytes());
  }
  const double share = static_cast<double>(peak) / limit;
  if (share < kNearLimitShare) return;
  const auto percent = std::to_string(std::lround(100 * share));
  Finding finding = steps.ofGrowth(FindingKind::NearLimit, 0);
  finding.costBytes.reset();
  finding.weight = std::min(share, 1.0);
  const std::string limitName = high > 0 && high < 1 ? "the high watermark" : "recommended max";
  finding.title = "Near the limit: driver memory reaches " + percent + " % of " + limitName;
  finding.evidence = "driver peak " + formatBytes(peak) + " (sampled), " + limitName + ' ' +
                     formatBytes(wholeBytes(limit));
  if (high > 0) {
    finding.evidence +=
        "; the allocator fails beyond " + formatBytes(wholeBytes(recommended * high));
  }
  finding.advice = steps.store.ownScript()
                       ? "use a smaller batch, or a shorter sequence; smaller batches with "
                         "accumulated gradients "
                         "train the same; after a single large step, torch.mps.empty_cache()"
                       : "use a smaller batch or sequence, or empty the cache after a large step";
  findings.found.push_back(std::move(finding));
}

}  // namespace highwater::analysis

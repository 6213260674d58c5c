#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "analysis/findings/finding_rules.h"
#include "analysis/settings_change.h"
#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// Series over the step number: the peaks of each step that has them.
struct StepSeries {
  std::vector<Point> driver, current;
};

StepSeries seriesOf(const CheckedSteps& steps) {
  StepSeries series;
  for (const events::StepRecord& record : steps.records) {
    if (record.peak_driver_bytes() == 0) continue;
    const auto step = static_cast<double>(record.step());
    series.driver.push_back({step, static_cast<double>(record.peak_driver_bytes())});
    series.current.push_back({step, static_cast<double>(record.peak_current_bytes())});
  }
  return series;
}

/// Whether the driver, which grows by `slope` a step, grew only because the live peak did: its
/// cache follows the highest peak so far.
bool isOfLivePeaks(const StepSeries& series, double slope) {
  std::vector<Point> beyond;
  double live = 0;
  for (std::size_t i = 0; i < series.driver.size(); ++i) {
    live = std::max(live, series.current[i].y);
    beyond.push_back({series.driver[i].x, series.driver[i].y - live});
  }
  return steadySlope(beyond) < slope / 2;
}

/// All readings of the footprint during the steps, over the step number and the part of the step
/// that was over: they come ten to thirty times a second, so that many short steps have none.
std::vector<Point> footprintOf(const CheckedSteps& steps) {
  const SystemColumns& system = steps.store.system();
  const TimeRange range = steps.firstToLast();
  std::vector<Point> points;
  auto step = steps.records.begin();
  for (std::size_t row = 0; row < system.timesNs.size(); ++row) {
    const std::int64_t ns = system.timesNs[row];
    const double bytes = system.footprint[row];
    if (ns < range.beginNs || ns > range.endNs || !(bytes > 0)) continue;
    while (std::next(step) != steps.records.end() && std::next(step)->begin_ns() <= ns) ++step;
    const double share = static_cast<double>(ns - step->begin_ns()) /
                         static_cast<double>(std::max<std::int64_t>(step->duration_ns(), 1));
    points.push_back({static_cast<double>(step->step()) + std::clamp(share, 0.0, 1.0), bytes});
  }
  return points;
}

std::string rangeText(const std::vector<Point>& points) {
  return formatBytes(wholeBytes(points.front().y)) + " to " +
         formatBytes(wholeBytes(points.back().y));
}

/// The ops that had a shape that was new to them in nearly every recorded step; at most four, in
/// the order in which they first ran. Empty where few steps were recorded.
std::vector<std::string> opsOfNewShapes(const CheckedSteps& steps) {
  struct Shapes {
    std::set<NameId> seen;
    std::uint32_t newAt = 0;   ///< the last step with a new one
    std::size_t newSteps = 0;  ///< without the first recorded step
  };
  std::map<NameId, Shapes> byOp;
  std::vector<NameId> order;
  std::set<std::uint32_t> recorded;
  const auto& ops = steps.store.ops().records;
  const std::size_t first = ops.size() - std::min(ops.size(), kMostCountedOps);
  for (std::size_t i = first; i < ops.size(); ++i) {
    const events::OpSpan& op = ops[i];
    if (op.shapes() == kNoId || !steps.holding(op.step(), op.begin_ns())) continue;
    recorded.insert(op.step());
    const auto [place, isNew] = byOp.try_emplace(op.op());
    if (isNew) order.push_back(op.op());
    Shapes& shapes = place->second;
    if (!shapes.seen.insert(op.shapes()).second || op.step() == *recorded.begin()) continue;
    shapes.newSteps += shapes.newAt != op.step() ? 1 : 0;
    shapes.newAt = op.step();
  }
  std::vector<std::string> names;
  if (recorded.size() <= kLeastSteps) return names;
  const double least = kEveryStepShare * static_cast<double>(recorded.size() - 1);
  for (const NameId op : order) {
    if (names.size() == 4) break;
    if (static_cast<double>(byOp[op].newSteps) >= least) names.push_back(steps.store.name(op));
  }
  return names;
}

/// Where most of `cached` bytes of cache comes from, as "after a large step", with what tells it
/// added to the evidence where it was no step. Sets `evaluates` where it was an evaluation.
std::string cacheComesFrom(const CheckedSteps& steps, double cached, Finding& finding,
                           bool& evaluates) {
  const MemoryColumns& memory = steps.store.memory();
  const events::StepRecord& first = steps.store.steps().records.front();
  const auto begin =
      std::lower_bound(memory.timesNs.begin(), memory.timesNs.end(), first.begin_ns());
  if (begin != memory.timesNs.end()) {
    const auto row = static_cast<std::size_t>(begin - memory.timesNs.begin());
    const double left = memory.driver[row] - memory.current[row];
    if (left >= kLeastExplainedShare * cached) {
      finding.evidence += "; " + formatBytes(wholeBytes(left)) + " of cache were there when step " +
                          std::to_string(first.step()) + " began";
      return "before the first step, after what came before the training was deleted";
    }
  }
  for (const RegionMemory& row : memoryAccount(steps.store, steps.timeRange()).rows) {
    const auto left = static_cast<double>(row.of(MemoryCounter::Driver).change);
    if (row.region == Region::Step || left < kLeastExplainedShare * cached) continue;
    finding.evidence +=
        "; " + formatBytes(wholeBytes(left)) + " of driver memory came with " + row.text();
    evaluates = row.region == Region::Evaluation;
    return "after the part that needs so much (" + row.text() + ")";
  }
  return "after a large step";
}

double recommendedOf(const LiveStore& store) {
  const MemoryColumns& memory = store.memory();
  if (!memory.timesNs.empty()) return memory.recommended[memory.timesNs.size() - 1];
  return store.hello() ? static_cast<double>(store.hello()->limits.recommendedBytes) : 0;
}

}  // namespace

std::vector<std::size_t> shapesOfData(const CheckedSteps& steps) {
  std::vector<std::int64_t> changes;
  for (const SettingsChange& change : settingsChanges(steps.store)) {
    if (!change.isLevel) changes.push_back(change.timeNs);
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::vector<std::size_t> counts;
  std::size_t ofData = 0;
  auto change = changes.begin();
  for (const events::StepRecord& record : steps.records) {
    const auto next =
        std::upper_bound(change, changes.end(), record.begin_ns() + record.duration_ns());
    const bool isChanged = next != change;
    change = next;
    const bool isNew = seen.emplace(record.batch_size(), record.sequence_length()).second;
    if (counts.empty() || (isNew && !isChanged)) ++ofData;
    counts.push_back(ofData);
  }
  return counts;
}

DriverGrowth driverGrowthOf(const CheckedSteps& steps) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  DriverGrowth growth;
  std::uint64_t highest = 0;
  for (const events::StepRecord& record : steps.records) {
    const bool isNew = seen.emplace(record.batch_size(), record.sequence_length()).second;
    const std::uint64_t driver = record.peak_driver_bytes();
    if (driver > highest) {
      const auto grown = static_cast<double>(highest > 0 ? driver - highest : 0);
      (isNew ? growth.newShapeBytes : growth.knownShapeBytes) += grown;
      highest = driver;
    }
  }
  const std::vector<std::size_t> shapes = shapesOfData(steps);
  growth.shapes = shapes.empty() ? 0 : shapes.back();
  return growth;
}

void findFragmentation(const CheckedSteps& steps, Findings& findings) {
  const DriverGrowth growth = driverGrowthOf(steps);
  if (growth.shapes < kLeastVaryingShapes || growth.knownShapeBytes <= growth.newShapeBytes) return;
  const StepSeries series = seriesOf(steps);
  if (series.driver.size() < 2 * kLeastSteps) return;
  const double slope = steadySlope(series.driver);
  if (slope < kLeastFragmentationBytes) return;
  if (robustSlope(series.current) > slope / 2 || isOfLivePeaks(series, slope)) return;
  Finding finding = steps.ofGrowth(FindingKind::Fragmentation, robustSlope(series.driver));
  finding.count = growth.shapes;
  finding.title = "Fragmentation: driver memory grows by " +
                  formatBytes(wholeBytes(*finding.costBytes)) + " a step, and current does not";
  finding.evidence = "steps " + std::to_string(finding.firstStep) + " to " +
                     std::to_string(finding.lastStep) + ": driver " + rangeText(series.driver) +
                     ", current at its peak " + rangeText(series.current) + "; of " +
                     std::to_string(growth.shapes) + " shapes of a batch, and " +
                     formatBytes(wholeBytes(growth.knownShapeBytes)) +
                     " of the growth came at shapes that had been trained before: free blocks do "
                     "not fit what is asked for";
  finding.advice =
      "group samples of similar length into buckets and pad to the bucket's length; "
      "train one batch of the longest length first, so that its blocks serve the "
      "others";
  if (steps.store.ownScript()) {
    finding.advice += " (group_by_length in Hugging Face's TrainingArguments)";
  }
  findings.found.push_back(std::move(finding));
}

void findDriverGrowth(const CheckedSteps& steps, Findings& findings) {
  const DriverGrowth growth = driverGrowthOf(steps);
  // Of more shapes it is fragmentation, or the growth of new shapes.
  if (growth.shapes >= kLeastVaryingShapes || growth.knownShapeBytes <= growth.newShapeBytes) {
    return;
  }
  const StepSeries series = seriesOf(steps);
  if (series.driver.size() < 2 * kLeastSteps) return;
  const double slope = steadySlope(series.driver);
  if (slope < kLeastDriverGrowthBytes) return;
  if (robustSlope(series.current) > slope / 2 || isOfLivePeaks(series, slope)) return;
  Finding finding = steps.ofGrowth(FindingKind::DriverGrowth, robustSlope(series.driver));
  // What is kept may be the cause: a tensor that grows takes a new block each time.
  const auto kept =
      std::find_if(findings.found.begin(), findings.found.end(),
                   [](const Finding& each) { return each.kind == FindingKind::MemoryGrowth; });
  if (kept != findings.found.end()) {
    kept->title += ", and the driver takes " + formatBytes(wholeBytes(*finding.costBytes));
    kept->evidence += "; driver " + rangeText(series.driver) +
                      ": where one tensor grows, each step needs a larger block than "
                      "the one that it frees";
    kept->advice +=
        ". A tensor that torch.cat makes longer at each step: keep a fixed number of "
        "rows, in one buffer that is written in place";
    kept->weight = std::max(kept->weight, finding.weight);
    return;
  }
  finding.title = "Driver memory grows by " + formatBytes(wholeBytes(*finding.costBytes)) +
                  " a step" +
                  (growth.shapes == 1 && steps.records.front().batch_size() > 0
                       ? ", although the input keeps its shape"
                       : ", and current does not");
  finding.evidence = "steps " + std::to_string(finding.firstStep) + " to " +
                     std::to_string(finding.lastStep) + ": driver " + rangeText(series.driver) +
                     ", current at its peak " + rangeText(series.current) + ": no tensor is kept";
  addGrowingRegion(steps, MemoryCounter::Driver, finding);
  finding.ops = opsOfNewShapes(steps);
  if (finding.ops.empty()) {
    finding.advice =
        "most likely something within the step has a new shape each time (a mask, a selection, "
        "targets), and MPS keeps the graph that it compiles for each shape: record some steps "
        "with --level ops, which names the ops, and pad what changes its size to a few sizes";
  } else {
    finding.evidence += "; ops with a new shape at each recorded step: ";
    for (const std::string& op : finding.ops) {
      finding.evidence += (&op == finding.ops.data() ? "" : ", ") + op;
    }
    finding.advice =
        "MPS keeps the graph that it compiles for each shape: pad what these ops take to a few "
        "sizes";
  }
  findings.found.push_back(std::move(finding));
}

void findHiddenGrowth(const CheckedSteps& steps, Findings& findings) {
  if (!steps.store.hasMemoryCounters()) return;
  const std::vector<Point> footprint = footprintOf(steps);
  const StepSeries series = seriesOf(steps);
  if (footprint.size() < kLeastFootprints || series.driver.size() < 2 * kLeastSteps) return;
  const double slope = steadySlope(footprint);
  if (slope < kLeastHiddenGrowthBytes) return;
  // Growth that the driver counts is another finding.
  if (robustSlope(series.driver) > slope / 4) return;
  const double driverRise = std::max(series.driver.back().y - series.driver.front().y, 0.0);
  const double rise = footprint.back().y - footprint.front().y;
  if (rise - driverRise < std::max(kLeastHiddenBytes, rise / 2)) return;
  // What the first steps add, as new shapes do, is a warm-up.
  const auto half = footprint.begin() + static_cast<std::ptrdiff_t>(footprint.size() / 2);
  Finding finding =
      steps.ofGrowth(FindingKind::HiddenGrowth,
                     std::min(robustSlope(footprint), robustSlope({half, footprint.end()})));
  finding.title = "Hidden growth: each step adds " + formatBytes(wholeBytes(*finding.costBytes)) +
                  " that the device's driver does not count";
  finding.evidence = "steps " + std::to_string(finding.firstStep) + " to " +
                     std::to_string(finding.lastStep) + ": footprint of the process " +
                     rangeText(footprint) + ", driver " + rangeText(series.driver);
  addGrowingRegion(steps, MemoryCounter::Footprint, finding);
  finding.advice =
      "look for what the host keeps: results and tensors on the CPU in a list, a data "
      "set that caches, workers of a DataLoader; `footprint` or `heap` of macOS say "
      "what kind of memory it is";
  findings.found.push_back(std::move(finding));
}

void findCacheAboveLive(const CheckedSteps& steps, Findings& findings) {
  // What filled the memory at the end is told there, and the allocator had emptied its cache.
  if (hasKind(findings, FindingKind::OutOfMemory)) return;
  const double recommended = recommendedOf(steps.store);
  if (recommended <= 0) return;
  // The newer half: what was needed before may never be needed again.
  const auto half = steps.records.subspan(steps.records.size() / 2);
  if (half.size() < kLeastSteps) return;
  double driver = std::numeric_limits<double>::max(), live = 0;
  for (const events::StepRecord& record : half) {
    if (record.peak_driver_bytes() == 0 || record.peak_current_bytes() == 0) return;
    driver = std::min(driver, static_cast<double>(record.peak_driver_bytes()));
    live = std::max(live, static_cast<double>(record.peak_current_bytes()));
  }
  // A driver that still grows is another finding, and its graphs are no cache that can be emptied.
  std::vector<Point> held;
  for (const events::StepRecord& record : half) {
    held.push_back(
        {static_cast<double>(record.step()), static_cast<double>(record.peak_driver_bytes())});
  }
  if (robustSlope(held) >= kLeastGrowthBytes) return;
  const double cached = driver - live;
  if (driver < kLeastCacheFactor * live || cached < kLeastCacheShare * recommended) return;
  Finding finding =
      steps.ofWeight(FindingKind::CacheAboveLive, std::min(cached / recommended, 1.0));
  finding.costBytes = cached;
  finding.firstStep = half.front().step();
  finding.lastStep = half.back().step();
  finding.title =
      "Cache far above live: emptying it would free up to " + formatBytes(wholeBytes(cached));
  finding.evidence = "steps " + std::to_string(finding.firstStep) + " to " +
                     std::to_string(finding.lastStep) + ": at most " +
                     formatBytes(wholeBytes(live)) + " were in use, and the driver held at least " +
                     formatBytes(wholeBytes(driver));
  const auto most = std::max_element(
      steps.records.begin(), steps.records.end(),
      [](const auto& a, const auto& b) { return a.peak_current_bytes() < b.peak_current_bytes(); });
  if (static_cast<double>(most->peak_current_bytes()) > live) {
    finding.evidence += "; the most in use was " + formatBytes(most->peak_current_bytes()) +
                        ", at step " + std::to_string(most->step());
  }
  bool evaluates = false;
  const std::string after = cacheComesFrom(steps, cached, finding, evaluates);
  finding.advice = "empty the cache once " + after +
                   " (torch.mps.empty_cache()), not at each step: blocks that are needed again "
                   "must then be allocated anew. A heap that still has a block in use is not "
                   "released";
  if (evaluates) {
    finding.advice +=
        ". Better, have an evaluation need less at once: smaller batches, and of their outputs "
        "what "
        "the metric needs";
  }
  findings.found.push_back(std::move(finding));
}

void findSystemPressure(const CheckedSteps& steps, Findings& findings) {
  const SystemColumns& system = steps.store.system();
  const TimeRange range = steps.firstToLast();
  const auto rowFrom = [&](std::int64_t ns) {
    return static_cast<std::size_t>(
        std::lower_bound(system.timesNs.begin(), system.timesNs.end(), ns) -
        system.timesNs.begin());
  };
  const std::size_t first = rowFrom(range.beginNs), last = rowFrom(range.endNs);
  std::size_t known = 0, warning = 0, critical = 0;
  double knownNs = 0, shortNs = 0;  // each sample counts until the next
  for (std::size_t row = first; row < last; ++row) {
    const events::Pressure pressure = system.pressure[row];
    if (pressure == events::Pressure::Unknown) continue;
    const std::int64_t nextNs = row + 1 < last ? system.timesNs[row + 1] : range.endNs;
    const auto ns = static_cast<double>(std::max<std::int64_t>(nextNs - system.timesNs[row], 1));
    ++known;
    knownNs += ns;
    warning += pressure == events::Pressure::Warning ? 1 : 0;
    critical += pressure == events::Pressure::Critical ? 1 : 0;
    if (pressure >= events::Pressure::Warning) shortNs += ns;
  }
  if (known == 0) return;
  const double share = shortNs / knownNs;
  const MinMax swap = system.swapUsed.minMax(first, last);
  const double swapBefore = system.swapUsed[first];
  const double swapped = swap.max - swapBefore;  // NaN where unknown
  const auto machine =
      steps.store.hello() ? static_cast<double>(steps.store.hello()->limits.systemBytes) : 0;
  const bool swaps = machine > 0 && swapped >= kLeastSwapShare * machine;
  if (share < kLeastPressureShare && !swaps) return;
  Finding finding = steps.ofWeight(FindingKind::SystemPressure,
                                   std::min(std::max(share, swaps ? swapped / machine : 0), 1.0));
  finding.title = share >= kLeastPressureShare
                      ? "System pressure: memory is short in " + percentText(share) + " of the time"
                      : "System pressure: " + formatBytes(wholeBytes(swapped)) +
                            " went to swap during these steps";
  finding.evidence = "of " + std::to_string(known) + " samples pressure was warning in " +
                     std::to_string(warning) + " and critical in " + std::to_string(critical);
  if (swapped > 0) {
    finding.evidence += "; swap used grew from " + formatBytes(wholeBytes(swapBefore)) + " to " +
                        formatBytes(wholeBytes(swap.max));
  }
  const MinMax footprint = system.footprint.minMax(first, last);
  const MinMax available = system.available.minMax(first, last);
  if (footprint.max > 0) {
    finding.evidence +=
        "; the training's footprint was at most " + formatBytes(wholeBytes(footprint.max));
    if (machine > 0) finding.evidence += " of " + formatBytes(wholeBytes(machine));
  }
  if (available.min >= 0) {
    finding.evidence += ", " + formatBytes(wholeBytes(available.min)) + " were available at least";
  }
  finding.advice =
      "close other programs, or train with a smaller batch or sequence: what is swapped "
      "out has to be read again, and the system may end programs";
  findings.found.push_back(std::move(finding));
}

}  // namespace highwater::analysis

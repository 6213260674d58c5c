#include "tuning/observations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "analysis/account/memory_growth.h"
#include "analysis/named_phases.h"
#include "analysis/statistics.h"
#include "analysis/time_range.h"
#include "core/events_generated.h"
#include "core/units.h"
#include "tuning/sweep.h"

namespace highwater::tuning {
namespace {

using events::StepRecord;

/// Whether a step of the run's records tells what its setting takes once training has settled.
bool hasSettled(const std::vector<StepRecord>& records, std::size_t row) {
  return row > 0 && settingOf(records[row]) == settingOf(records[row - 1]);
}

/// The settings whose steps ran out of memory: at each marker that of the markers before it, or of
/// the run's begin. An evaluation has a batch of its own.
std::vector<Setting> outOfMemoryOf(const analysis::LiveStore& store) {
  std::vector<Setting> all;
  Knobs knobs = store.run() ? store.run()->knobs : Knobs{};
  for (const events::Marker& marker : store.markers()) {
    const auto value = static_cast<std::uint32_t>(std::clamp(marker.value_after(), 0.0, 4e9));
    if (marker.kind() == events::MarkerKind::BatchSize) knobs.batchSize = value;
    if (marker.kind() == events::MarkerKind::SequenceLength) knobs.sequenceLength = value;
    if (!store.isStepOutOfMemory(marker) || knobs.batchSize == 0) continue;
    const Setting setting{knobs.batchSize, std::max(knobs.sequenceLength, 1U)};
    if (std::find(all.begin(), all.end(), setting) == all.end()) all.push_back(setting);
  }
  return all;
}

/// The times in which the training was paused.
std::vector<analysis::TimeRange> pausesOf(const analysis::LiveStore& store) {
  std::vector<analysis::TimeRange> pauses;
  bool isPaused = false;
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() == events::MarkerKind::Paused && !isPaused) {
      pauses.push_back({marker.time_ns(), std::numeric_limits<std::int64_t>::max()});
      isPaused = true;
    } else if (marker.kind() == events::MarkerKind::Resumed && isPaused) {
      pauses.back().endNs = marker.time_ns();
      isPaused = false;
    }
  }
  return pauses;
}

/// The pauses and the evaluations, in order of time and without overlaps.
std::vector<analysis::TimeRange> breaksOf(const analysis::LiveStore& store) {
  std::vector<analysis::TimeRange> all = pausesOf(store), breaks;
  const analysis::SpanIndex& lane = store.namedLane();
  for (std::size_t i = 0; i < lane.size(); ++i) {
    const analysis::Span span = lane[i];
    if (isEvaluation(store, store.namedSpans()[span.payload])) {
      all.push_back({span.beginNs, span.endNs});
    }
  }
  std::sort(all.begin(), all.end(), [](const analysis::TimeRange& a, const analysis::TimeRange& b) {
    return a.beginNs < b.beginNs;
  });
  for (const analysis::TimeRange& each : all) {
    if (!breaks.empty() && each.beginNs <= breaks.back().endNs) {
      breaks.back().endNs = std::max(breaks.back().endNs, each.endNs);
    } else {
      breaks.push_back(each);
    }
  }
  return breaks;
}

/// The length of `range` without the breaks of breaksOf().
std::int64_t withoutBreaks(analysis::TimeRange range,
                           const std::vector<analysis::TimeRange>& breaks) {
  std::int64_t ns = range.endNs - range.beginNs;
  auto each = std::partition_point(
      breaks.begin(), breaks.end(),
      [&](const analysis::TimeRange& one) { return one.endNs <= range.beginNs; });
  for (; each != breaks.end() && each->beginNs < range.endNs; ++each) {
    ns -= std::min(each->endNs, range.endNs) - std::max(each->beginNs, range.beginNs);
  }
  return ns;
}

double stepMsWithout(const std::vector<analysis::TimeRange>& breaks,
                     const analysis::LiveStore& store, std::span<const std::size_t> rows) {
  const auto& steps = store.steps();
  std::vector<double> byDevice;
  for (const std::size_t row : rows) {
    const bool isKnown =
        steps.deviceEndNs[row] >= 0 && (row == 0 || steps.deviceEndNs[row - 1] >= 0);
    const double rate = steps.tokensPerS[row];
    if (isKnown && rate > 0) byDevice.push_back(1000 * steps.records[row].tokens() / rate);
  }
  if (!byDevice.empty()) return analysis::medianOf(std::move(byDevice));
  std::int64_t ns = 0;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t last = first;
    while (last + 1 < rows.size() && rows[last + 1] == rows[last] + 1) ++last;
    const StepRecord& end = steps.records[rows[last]];
    ns += withoutBreaks({steps.records[rows[first]].begin_ns(), end.begin_ns() + end.duration_ns()},
                        breaks);
    first = last + 1;
  }
  return rows.empty() ? 0 : toMs(ns) / static_cast<double>(rows.size());
}

/// What other parts of the run than steps have left in the driver's cache, as seen at the begin of
/// one step after the other: an evaluation, or a large model that was freed before step 1.
class CacheOfOthers {
 public:
  explicit CacheOfOthers(const analysis::LiveStore& store)
      : memory_(store.memory()), records_(store.steps().records) {}

  /// The bytes of it that are left as the step of `row` begins. Ask for each row once, in order.
  double beforeStep(std::size_t row) {
    const auto& times = memory_.timesNs;
    const auto place = [&times](std::int64_t ns) {
      return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), ns) -
                                      times.begin());
    };
    const std::int64_t beginNs = records_[row].begin_ns();
    const std::size_t now = place(beginNs);  // a step begins with a phase, and that with a sample
    if (now == times.size() || times[now] > endNsOf(row)) return left_;
    const double current = memory_.current[now], driver = memory_.driver[now];
    if (row == 0 && now > 0) {
      left_ = memory_.current.minMax(0, now).max - current;
    } else if (row > 0 && endNsOf(row - 1) < beginNs) {
      const std::size_t before = place(endNsOf(row - 1) + 1);
      if (before > 0) {
        // What is allocated and stays is no cache.
        left_ += std::max(0.0, driver - memory_.driver[before - 1] -
                                   std::max(0.0, current - memory_.current[before - 1]));
      }
    }
    // The cache may have been emptied since.
    left_ = std::clamp(left_, 0.0, std::max(0.0, driver - current));
    return left_;
  }

 private:
  [[nodiscard]] std::int64_t endNsOf(std::size_t row) const {
    return records_[row].begin_ns() + records_[row].duration_ns();
  }

  const analysis::MemoryColumns& memory_;
  const std::vector<StepRecord>& records_;
  double left_ = 0;
};

/// Whether a step comes after one with a shorter batch that came after one with its own.
bool isAfterShorterBatch(const std::vector<StepRecord>& records, std::size_t row) {
  return row > 1 && records[row - 1].batch_size() < records[row].batch_size() &&
         settingOf(records[row - 2]) == settingOf(records[row]);
}

/// Steps with an emptied cache that say what a setting takes: later ones may take more.
constexpr std::size_t kStepsAlone = 4;
/// The share of a step's driver peak, 0 to 1, from which on what others have left counts: less is
/// within what the peak of a setting differs by from run to run.
constexpr double kLeastShareOfOthers = 0.05;

/// A sweep empties the cache before each setting, once the setting has come: its peaks say more
/// than those of steps with the cache of earlier settings.
void useSweep(const analysis::LiveStore& store, std::vector<Observation>& observations) {
  const auto sweep = sweepOf(store);
  if (!sweep) return;
  for (const SweptSetting& swept : sweep->settings) {
    for (Observation& each : observations) {
      const bool saysMore = each.driverIncludesEarlier && swept.peakDriver >= each.peakCurrent;
      if (each.setting != swept.setting || !saysMore) continue;
      each.peakDriver = swept.peakDriver;
      each.driverIncludesEarlier = each.sawShorterBatch = false;
    }
  }
}

}  // namespace

double stepMsOf(const analysis::LiveStore& store, std::span<const std::size_t> rows) {
  return stepMsWithout(breaksOf(store), store, rows);
}

std::uint32_t epochSamplesOf(const analysis::LiveStore& store) {
  const auto& records = store.steps().records;
  const ScriptKnob* const knob = store.scriptKnob(kLoaderBatchKnob);
  if (!store.run() || !knob || records.empty()) return 0;
  constexpr std::ptrdiff_t kLooksAt = 64;
  const auto first = records.end() - std::min(kLooksAt, std::ssize(records));
  const bool isStepsBatch = std::any_of(first, records.end(), [knob](const StepRecord& step) {
    return step.batch_size() == knob->value;
  });
  return isStepsBatch ? store.run()->epochSamples : 0;
}

std::vector<Observation> observationsOf(const analysis::LiveStore& store) {
  const auto& records = store.steps().records;
  std::vector<std::int64_t> emptied;
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() == events::MarkerKind::CacheEmptied) emptied.push_back(marker.time_ns());
  }
  struct Group {
    Observation seen;
    std::vector<std::size_t> rows;
    /// Driver memory of the steps since the cache was emptied, before another setting was trained:
    /// the peak, how many, and whether a shorter batch was among them.
    std::uint64_t alonePeak = 0;
    std::size_t aloneSteps = 0;
    bool aloneShorter = false;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Group> settled, unsettled;
  std::uint64_t largestTokens = 0, largestScores = 0;  // since the cache was emptied
  std::uint64_t triedPeak = 0, largestDriver = 0;  // of a try that took more, and of other steps
  std::optional<Setting> trained;                  // settled, since then: the first
  bool isMixed = true;                             // another one too, or it was never emptied
  std::size_t nextEmptied = 0;
  CacheOfOthers others(store);
  for (std::size_t row = 0; row < records.size(); ++row) {
    const StepRecord& step = records[row];
    const bool includesOthers = others.beforeStep(row) >
                                kLeastShareOfOthers * static_cast<double>(step.peak_driver_bytes());
    if (nextEmptied < emptied.size() && emptied[nextEmptied] <= step.begin_ns()) {
      while (nextEmptied < emptied.size() && emptied[nextEmptied] <= step.begin_ns()) ++nextEmptied;
      largestTokens = largestScores = triedPeak = largestDriver = 0;
      trained.reset();
      isMixed = false;
    }
    if (store.isTried(step.step())) {  // another training, whatever its setting
      if (step.peak_driver_bytes() > largestDriver) {
        isMixed = true;
        triedPeak = std::max(triedPeak, step.peak_driver_bytes());
      }
      continue;
    }
    largestDriver = std::max(largestDriver, step.peak_driver_bytes());
    const Setting setting = settingOf(step);
    if (setting.batch == 0 || step.peak_current_bytes() == 0) continue;
    auto& group = hasSettled(records, row) ? settled : unsettled;
    Group& of = group[{setting.batch, setting.length}];
    Observation& seen = of.seen;
    of.rows.push_back(row);
    if (hasSettled(records, row)) {
      if (!trained) trained = setting;
      isMixed = isMixed || *trained != setting;
    }
    if (!isMixed && !includesOthers) {
      ++of.aloneSteps;
      of.alonePeak = std::max(of.alonePeak, step.peak_driver_bytes());
      of.aloneShorter = of.aloneShorter || isAfterShorterBatch(records, row);
    }
    // As many tokens in longer rows have larger attention scores.
    const std::uint64_t scores = product(setting.tokens(), setting.length);
    const bool includesEarlier = includesOthers || triedPeak >= step.peak_driver_bytes() ||
                                 largestTokens > setting.tokens() || largestScores > scores;
    largestTokens = std::max(largestTokens, setting.tokens());
    largestScores = std::max(largestScores, scores);
    seen.exact = step.peak_current_exact() != 0 && (seen.steps == 0 || seen.exact);
    if (seen.steps == 0) seen.driverIncludesEarlier = includesEarlier;
    ++seen.steps;
    seen.setting = setting;
    seen.sawShorterBatch = seen.sawShorterBatch || isAfterShorterBatch(records, row);
    seen.peakCurrent = std::max(seen.peakCurrent, step.peak_current_bytes());
    if (seen.driverIncludesEarlier && !includesEarlier) {
      seen.driverIncludesEarlier = false;
      seen.peakDriver = step.peak_driver_bytes();
    } else if (seen.driverIncludesEarlier == includesEarlier) {
      seen.peakDriver = std::max(seen.peakDriver, step.peak_driver_bytes());
    }
  }
  for (auto& [key, each] : unsettled) settled.try_emplace(key, std::move(each));
  for (const analysis::StepEnd& end : analysis::currentAtStepEnds(store)) {
    const auto found = settled.find({end.batchSize, std::max(1U, end.sequenceLength)});
    if (found == settled.end() || end.bytes <= 0) continue;
    std::uint64_t& left = found->second.seen.leftAllocated;
    const auto bytes = static_cast<std::uint64_t>(end.bytes);
    left = left == 0 ? bytes : std::min(left, bytes);
  }
  const std::vector<analysis::TimeRange> breaks = breaksOf(store);
  std::vector<Observation> all;
  for (auto& [key, each] : settled) {
    // Even a smaller setting leaves blocks that this one does not fit into: what it took alone is
    // what a run of it takes.
    const bool tells = each.aloneSteps >= kStepsAlone && each.alonePeak >= each.seen.peakCurrent;
    if (tells && each.alonePeak < each.seen.peakDriver) {
      each.seen.peakDriver = each.alonePeak;
      each.seen.sawShorterBatch = each.aloneShorter;
    }
    each.seen.stepMs = stepMsWithout(breaks, store, each.rows);
    all.push_back(each.seen);
  }
  return all;
}

HeldMemory heldMemoryOf(const analysis::LiveStore& store) {
  HeldMemory held;
  std::int64_t emptiedNs = std::numeric_limits<std::int64_t>::min();
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() != events::MarkerKind::CacheEmptied) continue;
    emptiedNs = marker.time_ns();
    if (std::isfinite(marker.value_after())) {
      held.driverNow = wholeBytes(std::max(0.0, marker.value_after()));
    }
  }
  const auto& memory = store.memory();
  if (!memory.timesNs.empty() && memory.timesNs.back() >= emptiedNs) {
    held.driverNow = wholeBytes(std::max(0.0, memory.driver.values().back()));
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places;
  for (const StepRecord& step : store.steps().records) {
    const Setting setting = settingOf(step);
    if (setting.batch == 0 || step.begin_ns() < emptiedNs) continue;
    const auto [place, isNew] =
        places.try_emplace({setting.batch, setting.length}, held.trained.size());
    if (isNew) held.trained.push_back({setting, 0});
    std::uint64_t& peak = held.trained[place->second].peakDriver;
    peak = std::max(peak, step.peak_driver_bytes());
  }
  return held;
}

ModelSizes modelSizesOf(const RunDescription& run) {
  return {.parameters = run.parameters,
          .features = run.width,
          .heads = run.heads,
          .layers = run.layers,
          // A script's may have autocast's after a comma; its weights have the first.
          .dtype = run.dtype.substr(0, run.dtype.find(',')),
          // The built-in workload names none, and trains with AdamW.
          .optimizer = run.optimizer.empty() ? "AdamW" : run.optimizer};
}

Result<ModelInput> modelInputOf(const analysis::LiveStore& store) {
  if (!store.hasMemoryCounters()) {
    return failure("the CPU has no device memory, so there is no limit to predict");
  }
  ModelInput input;
  input.observations = observationsOf(store);
  useSweep(store, input.observations);
  input.traces = tracesOf(store);
  input.limits = store.limits();
  if (store.run()) {
    input.knownFixed = tensorBudget({}, modelSizesOf(*store.run())).weights;
    input.bounds.maxBatch = store.run()->maxBatchSize;
    input.bounds.maxLength = store.run()->maxSequenceLength;
    input.bounds.epochSamples = epochSamplesOf(store);
  }
  input.bounds.outOfMemory = outOfMemoryOf(store);
  return input;
}

Result<MemoryModel> fitModel(const ModelInput& input) {
  auto requests = RequestModel::make(input.traces);
  return MemoryModel::fit(input.observations, input.limits, input.knownFixed,
                          requests ? std::optional(std::move(*requests)) : std::nullopt,
                          input.bounds);
}

Result<MemoryModel> memoryModelOf(const analysis::LiveStore& store) {
  const auto input = modelInputOf(store);
  if (!input) return input.error();
  return fitModel(*input);
}

}  // namespace highwater::tuning

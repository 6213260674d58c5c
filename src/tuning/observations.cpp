#include "tuning/observations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "analysis/memory_growth.h"
#include "core/events_generated.h"
#include "core/units.h"

namespace highwater::tuning {
namespace {

using events::StepRecord;

Setting settingOf(const StepRecord& step) {
  return {step.batch_size(), std::max(1U, step.sequence_length())};
}

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

}  // namespace

std::vector<Observation> observationsOf(const analysis::LiveStore& store) {
  const auto& records = store.steps().records;
  std::vector<std::int64_t> emptied;
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() == events::MarkerKind::CacheEmptied) emptied.push_back(marker.time_ns());
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, Observation> settled, unsettled;
  std::uint64_t largestTokens = 0, largestScores = 0;  // since the cache was emptied
  std::size_t nextEmptied = 0;
  for (std::size_t row = 0; row < records.size(); ++row) {
    const StepRecord& step = records[row];
    if (nextEmptied < emptied.size() && emptied[nextEmptied] <= step.begin_ns()) {
      while (nextEmptied < emptied.size() && emptied[nextEmptied] <= step.begin_ns()) ++nextEmptied;
      largestTokens = largestScores = 0;
    }
    const Setting setting = settingOf(step);
    if (setting.batch == 0 || step.peak_current_bytes() == 0) continue;
    auto& group = hasSettled(records, row) ? settled : unsettled;
    Observation& seen = group[{setting.batch, setting.length}];
    // As many tokens in longer rows have larger attention scores.
    const std::uint64_t scores = product(setting.tokens(), setting.length);
    const bool includesEarlier = largestTokens > setting.tokens() || largestScores > scores;
    largestTokens = std::max(largestTokens, setting.tokens());
    largestScores = std::max(largestScores, scores);
    seen.exact = step.peak_current_exact() != 0 && (seen.steps == 0 || seen.exact);
    if (seen.steps == 0) seen.driverIncludesEarlier = includesEarlier;
    ++seen.steps;
    const double ms = store.steps().durationMs.values()[row];
    if (ms > 0 && (seen.stepMs == 0 || ms < seen.stepMs)) seen.stepMs = ms;
    seen.setting = setting;
    seen.peakCurrent = std::max(seen.peakCurrent, step.peak_current_bytes());
    if (seen.driverIncludesEarlier && !includesEarlier) {
      seen.driverIncludesEarlier = false;
      seen.peakDriver = step.peak_driver_bytes();
    } else if (seen.driverIncludesEarlier == includesEarlier) {
      seen.peakDriver = std::max(seen.peakDriver, step.peak_driver_bytes());
    }
  }
  for (auto& [key, seen] : unsettled) settled.try_emplace(key, seen);
  for (const analysis::StepEnd& end : analysis::currentAtStepEnds(store)) {
    const auto found = settled.find({end.batchSize, std::max(1U, end.sequenceLength)});
    if (found == settled.end() || end.bytes <= 0) continue;
    std::uint64_t& left = found->second.leftAllocated;
    const auto bytes = static_cast<std::uint64_t>(end.bytes);
    left = left == 0 ? bytes : std::min(left, bytes);
  }
  std::vector<Observation> all;
  for (auto& [key, seen] : settled) all.push_back(seen);
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
          // The built-in workload and model files that name none train with AdamW.
          .optimizer = run.optimizer.empty() ? "AdamW" : run.optimizer};
}

Result<ModelInput> modelInputOf(const analysis::LiveStore& store) {
  if (!store.hasMemoryCounters()) {
    return failure("the CPU has no device memory, so there is no limit to predict");
  }
  ModelInput input;
  input.observations = observationsOf(store);
  input.traces = tracesOf(store);
  if (store.hello()) input.limits = store.hello()->limits;
  if (store.run()) {
    input.knownFixed = tensorBudget({}, modelSizesOf(*store.run())).weights;
    input.bounds.maxBatch = store.run()->maxBatchSize;
    input.bounds.maxLength = store.run()->maxSequenceLength;
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

#pragma once

#include <span>
#include <vector>

#include "analysis/live_store.h"
#include "core/result.h"
#include "tuning/memory_model.h"
#include "tuning/request_trace.h"

namespace highwater::tuning {

/// The settings that a run was trained at, with the peaks of their steps; one observation a
/// setting. Left out are, wherever a setting has other steps: the first step of the run, in which
/// the optimizer's state is only being allocated, and the first step after a change of setting.
/// Steps of unknown batch size are left out as well. A script's guessed settings count as they are.
///
/// Memory depends on the past: blocks that a larger setting, an evaluation or work before step 1
/// has left in the cache keep their heaps until the cache is emptied. Such driver peaks are marked
/// (Observation::driverIncludesEarlier).
[[nodiscard]] std::vector<Observation> observationsOf(const analysis::LiveStore& store);

/// How long a step takes in milliseconds, of some rows of steps() at one setting in ascending
/// order: the median of the device's times, by which tokensPerS counts, where they are known.
/// Otherwise the mean of the host's time from the first to the last of consecutive rows, without
/// pauses and evaluations: a host that reads the loss only now and then queues most steps in no
/// time. 0 where it is unknown.
[[nodiscard]] double stepMsOf(const analysis::LiveStore& store, std::span<const std::size_t> rows);

/// What the process of a run holds at the run's newest moment: the settings of the steps since its
/// cache was last emptied, and the newest reading of driver memory.
[[nodiscard]] HeldMemory heldMemoryOf(const analysis::LiveStore& store);

/// RunDescription::epochSamples where the loader's batch is that of a step; 0 where a step has
/// several of them, or another number of rows than the loader has samples.
[[nodiscard]] std::uint32_t epochSamplesOf(const analysis::LiveStore& store);

/// What a run's description says of its model: the factors of the tensor budget.
[[nodiscard]] ModelSizes modelSizesOf(const RunDescription& run);

/// What a memory model is fitted to: all that it needs of a run.
struct ModelInput {
  std::vector<Observation> observations;
  std::vector<StepTrace> traces;  ///< of steps whose ops were recorded
  MemoryLimits limits;
  std::uint64_t knownFixed = 0;  ///< bytes of the weights
  RunBounds bounds;
};
/// Fails with kFailed on the CPU, which has no device memory.
[[nodiscard]] Result<ModelInput> modelInputOf(const analysis::LiveStore& store);
/// Fits a model. With traces it takes seconds, so that a window does it on a thread; without them
/// it takes milliseconds. Fails as MemoryModel::fit() does.
[[nodiscard]] Result<MemoryModel> fitModel(const ModelInput& input);

/// The model of a run's steps so far. Fails as MemoryModel::fit() does.
[[nodiscard]] Result<MemoryModel> memoryModelOf(const analysis::LiveStore& store);

}  // namespace highwater::tuning

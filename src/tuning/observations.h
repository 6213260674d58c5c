#pragma once

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
/// Memory depends on the past: blocks that a larger setting has left in the cache keep their heaps
/// until the cache is emptied. Such driver peaks are marked (Observation::driverIncludesEarlier).
[[nodiscard]] std::vector<Observation> observationsOf(const analysis::LiveStore& store);

/// What the process of a run holds at the run's newest moment: the settings of the steps since its
/// cache was last emptied, and the newest reading of driver memory.
[[nodiscard]] HeldMemory heldMemoryOf(const analysis::LiveStore& store);

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

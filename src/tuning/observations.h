#pragma once

#include <vector>

#include "analysis/live_store.h"
#include "core/result.h"
#include "tuning/memory_model.h"

namespace highwater::tuning {

/// The settings that a run was trained at, with the peaks of their steps; one observation a
/// setting. Left out are, wherever a setting has other steps: the first step of the run, in which
/// the optimizer's state is only being allocated, and the first step after a change of setting.
/// Steps of unknown batch size are left out as well. A script's guessed settings count as they are.
///
/// Memory depends on the past: blocks that a larger setting has left in the cache keep their heaps
/// until the cache is emptied. Such driver peaks are marked (Observation::driverIncludesEarlier).
[[nodiscard]] std::vector<Observation> observationsOf(const analysis::LiveStore& store);

/// What a run's description says of its model: the factors of the tensor budget.
[[nodiscard]] ModelSizes modelSizesOf(const RunDescription& run);

/// The model of a run's steps so far. Fails as MemoryModel::fit() does.
[[nodiscard]] Result<MemoryModel> memoryModelOf(const analysis::LiveStore& store);

}  // namespace highwater::tuning

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// The allocated memory in bytes at the end of one step, with the shape of its batch.
struct StepEnd {
  std::uint32_t step = 0;
  std::uint32_t batchSize = 0, sequenceLength = 0;
  double bytes = 0;
};

/// Returns the allocated memory at the end of each of the steps [firstStep, lastStep], in order of
/// the steps. It is the reading at the end of the step's last phase, or else the step's last
/// sample. Steps with neither are left out. Besides a scan of the step numbers it costs only those
/// steps.
[[nodiscard]] std::vector<StepEnd> currentAtStepEnds(
    const LiveStore& store, std::uint32_t firstStep = 0,
    std::uint32_t lastStep = std::numeric_limits<std::uint32_t>::max());

/// By how many bytes the allocated memory grows per step. What is allocated at the end of a step
/// depends on the batch's shape (loss, logits), so only steps of the same shape are compared.
struct MemoryGrowth {
  std::uint64_t pairs = 0;  ///< pairs of a step and the next one with the same shape
  double medianBytes = 0;   ///< per step, median of those pairs
  double slopeBytes = 0;    ///< per step over the whole run, by robustSlope() within each shape
};

/// Computes how the allocated memory grows per step. Leaves out the first step, which allocates the
/// optimizer's state, and those outside of [firstStep, lastStep]. std::nullopt if no two of the
/// other steps have the same shape.
[[nodiscard]] std::optional<MemoryGrowth> memoryGrowth(
    const LiveStore& store, std::uint32_t firstStep = 0,
    std::uint32_t lastStep = std::numeric_limits<std::uint32_t>::max());

}  // namespace highwater::analysis

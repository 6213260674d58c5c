#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// Current allocated when a step had ended.
struct StepEnd {
  std::uint32_t step = 0;
  std::uint32_t batchSize = 0, sequenceLength = 0;
  double bytes = 0;
};

/// By the allocator's own reading at the end of the step's last phase, else by the last sample of
/// the step; steps without either are left out.
[[nodiscard]] std::vector<StepEnd> currentAtStepEnds(const LiveStore& store);

/// What a step leaves allocated. What lives at the end of a step depends on the batch's shape (its
/// loss, its logits), so only ends of steps with the same shape are compared.
struct MemoryGrowth {
  std::uint64_t pairs = 0;  ///< of a step and the next one with its shape
  double medianBytes = 0;   ///< a step, of those pairs: what most steps leave
  double slopeBytes = 0;    ///< a step, by all pairs of one shape (Theil and Sen): the long run
};

/// Of all steps but the first, in which the optimizer makes its state. Nothing where no two of them
/// have the same shape.
[[nodiscard]] std::optional<MemoryGrowth> memoryGrowth(const LiveStore& store);

}  // namespace highwater::analysis

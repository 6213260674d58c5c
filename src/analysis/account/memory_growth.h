#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
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

/// In which way a series grows.
enum class GrowthShape : std::uint8_t {
  Even,      ///< by a slope, which may be 0
  Sawtooth,  ///< step by step for a while, and then what has grown is freed again
  Jumps,     ///< at some steps, and hardly in between
};
/// The shape as a word of the JSON report: "even", "sawtooth", "jumps".
[[nodiscard]] std::string_view growthShapeKey(GrowthShape shape);

/// How the allocated memory grows per step. What is allocated at the end of a step depends on the
/// batch's shape (loss, logits), so only steps of the same shape are compared. Sawtooth and Jumps
/// are looked for where half of the steps have one shape.
struct MemoryGrowth {
  std::uint64_t pairs = 0;  ///< pairs of a step and the next one with the same shape
  double medianBytes = 0;   ///< per step, median of those pairs
  /// Per step over the whole run: Even by robustSlope() within each shape, Sawtooth from fall to
  /// fall, Jumps from the first step to the last.
  double slopeBytes = 0;
  GrowthShape shape = GrowthShape::Even;
  std::vector<std::uint32_t> atSteps;  ///< of Sawtooth: the first step after each fall; of Jumps
  double heightBytes = 0;              ///< median of the rises to a fall, or of the jumps
  double riseBytes = 0;                ///< of Sawtooth: per step of a rise
  /// The number of steps from one of atSteps to the next where that is always the same.
  std::optional<std::uint32_t> everySteps;
};

/// A sawtooth rises by this at least, in bytes, and for so many steps: less is the noise of a
/// garbage collector or of batches whose last one is smaller.
inline constexpr double kLeastToothBytes = 128.0 * 1024;
inline constexpr std::size_t kLeastToothSteps = 5;
/// The fewest jumps that are growth: one or two may be a second optimizer, or a larger evaluation.
inline constexpr std::size_t kLeastJumps = 3;

/// Computes how the allocated memory grows per step. Leaves out the first step, which allocates the
/// optimizer's state, and those outside of [firstStep, lastStep]. std::nullopt if no two of the
/// other steps have the same shape.
[[nodiscard]] std::optional<MemoryGrowth> memoryGrowth(
    const LiveStore& store, std::uint32_t firstStep = 0,
    std::uint32_t lastStep = std::numeric_limits<std::uint32_t>::max());

}  // namespace highwater::analysis

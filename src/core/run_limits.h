#pragma once

#include <cstdint>

/// What a run of our own worker takes at most: the command line refuses more, and the worker too.
namespace highwater {

inline constexpr std::uint32_t kMostRunSteps = 100'000'000;
inline constexpr std::uint32_t kMostBatchSize = 4096;
/// Length of the position table, and so of the longest sequence, unless the worker is told another.
inline constexpr std::uint32_t kPositionTableLength = 512;
inline constexpr std::uint32_t kMostLossInterval = 1'000'000;
inline constexpr std::uint32_t kMostSamplingHz = 1000;

}  // namespace highwater

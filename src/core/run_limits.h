#pragma once

#include <cstdint>

/// The largest settings of a run, enforced by the command line and by the worker.
namespace highwater {

/// The largest number of steps that a run may plan.
inline constexpr std::uint32_t kMostRunSteps = 100'000'000;
/// The largest batch size of a run, in rows of the data set.
inline constexpr std::uint32_t kMostBatchSize = 4096;
/// Default length of the model's table of position embeddings, in tokens. No sequence of a run can
/// be longer than the table.
inline constexpr std::uint32_t kPositionTableLength = 512;
/// The largest value of the setting lossEvery: the loss is read once in so many steps.
inline constexpr std::uint32_t kMostLossInterval = 1'000'000;
/// The largest value of the setting accumulation: the batches of one step.
inline constexpr std::uint32_t kMostAccumulation = 1024;
/// The bounds of the learning rate.
inline constexpr double kLeastLearningRate = 1e-9, kMostLearningRate = 10;
/// The bounds of the memory fraction. PyTorch allows up to 2; 0, which lifts the limit and may
/// bring a Mac down, only before the run (--high-watermark 0).
inline constexpr double kLeastMemoryFraction = 0.01, kMostMemoryFraction = 2;
/// The highest rate at which the worker samples memory, in samples per second.
inline constexpr std::uint32_t kMostSamplingHz = 1000;

}  // namespace highwater

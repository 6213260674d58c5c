#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/messages.h"
#include "core/option_table.h"
#include "core/run_limits.h"

namespace highwater {

/// The name of the training program that Highwater brings, in recordings and messages.
inline constexpr char kBuiltInWorkload[] = "issue-classifier";

/// The options of a run of the worker, which the command line and the worker share. What is empty,
/// 0 or unknown is left to the scenario, the preset or the device.
struct RunOptions : Knobs {
  std::string device = "auto";
  std::string preset, dataFile, dtype;
  std::string scenario;     ///< a name in core/scenarios.h
  std::uint32_t steps = 0;  ///< 0: until stopped
  std::uint32_t samplingHz = 0;
  std::optional<events::ProbeLevel> probeLevel;
  std::optional<std::uint64_t> seed;
  std::string onAbort;  ///< stop or restart; for the host alone
  /// The shortest time between checkpoints; 0: one at each step that the costs allow.
  std::optional<double> checkpointSeconds;

  /// What is trained: the scenario, which says more than the workload that it is made of.
  [[nodiscard]] std::string trained() const {
    return scenario.empty() ? kBuiltInWorkload : scenario;
  }
};

/// The devices that --device names.
inline constexpr std::string_view kDeviceWords[] = {"auto", "mps", "sim", "cpu"};
inline constexpr std::string_view kPresetWords[] = {"small", "base"};
inline constexpr std::string_view kLevelWords[] = {"off", "monitor", "ops"};
inline constexpr std::string_view kPrecisionWords[] = {"float32", "bfloat16", "float16"};
inline constexpr std::string_view kPolicyWords[] = {"stop", "retry", "halve"};
inline constexpr std::string_view kAbortWords[] = {"stop", "restart"};

/// The option that only the host reads.
inline constexpr std::string_view kHostOnlyOption = "--on-abort";

/// The options of a run. `longest` is the largest length of a sequence.
[[nodiscard]] constexpr auto runOptionRows(double longest = kPositionTableLength) {
  return std::to_array<OptionRow<RunOptions>>({
      {{"--steps", "N", "Steps to train", 1, kMostRunSteps}, &RunOptions::steps},
      {{"--scenario", "NAME", "A training program with one known problem"}, &RunOptions::scenario},
      {{"--device", "NAME", "auto, mps, sim (simulated mps) or cpu", kDeviceWords},
       &RunOptions::device},
      {{"--preset", "NAME", "Size of the model: small or base", kPresetWords}, &RunOptions::preset},
      {{"--data", "FILE", "CSV file with the columns text and label"}, &RunOptions::dataFile},
      {{"--batch", "N", "Batch size", 1, kMostBatchSize}, &RunOptions::batchSize},
      {{"--seq", "N", "Sequence length in tokens", 1, longest}, &RunOptions::sequenceLength},
      {{"--dtype", "TYPE", "Type of the weights, for example float32"}, &RunOptions::dtype},
      {{"--loss-every", "N", "Read the loss every N steps", 1, kMostLossInterval},
       &RunOptions::lossEvery},
      {{"--sampling-hz", "N", "Memory samples a second", 1, kMostSamplingHz},
       &RunOptions::samplingHz},
      {{"--level", "NAME", "What is recorded: off, monitor or ops (every op)", kLevelWords},
       &RunOptions::probeLevel},
      {rareOption("--lr", "RATE", "Learning rate of the optimizer", kLeastLearningRate,
                  kMostLearningRate),
       &RunOptions::learningRate},
      {rareOption("--accumulate", "N", "Batches of a step, whose gradients are added up", 1,
                  kMostAccumulation),
       &RunOptions::accumulation},
      {rareOption("--keep-effective-batch", "",
                  "Keep batch size times accumulation when either changes"),
       &RunOptions::keepEffectiveBatch},
      {rareOption("--precision", "TYPE",
                  "Type of the forward pass: float32, or bfloat16 or float16 by autocast",
                  std::span(kPrecisionWords)),
       &RunOptions::precision},
      {rareOption("--memory-fraction", "RATIO",
                  "Allocations fail beyond this multiple of recommended max", kLeastMemoryFraction,
                  kMostMemoryFraction),
       &RunOptions::memoryFraction},
      {rareOption(
           "--on-out-of-memory", "NAME",
           "After a step that ran out of memory: halve (the batch; the default), retry, or stop",
           std::span(kPolicyWords)),
       &RunOptions::outOfMemory},
      {rareOption("--seed", "N", "Seed of the random numbers"), &RunOptions::seed},
      {rareOption("--on-abort", "NAME",
                  "After the worker was killed by a signal: stop, or restart (continue from the "
                  "last checkpoint with half the batch; ends after 3 aborts without progress, or 5 "
                  "new workers that are killed before a step)",
                  std::span(kAbortWords)),
       &RunOptions::onAbort},
      {rareOption("--checkpoint-every", "S",
                  "Seconds between these checkpoints, never more than 2 % of the time (default 10)",
                  0, 86'400),
       &RunOptions::checkpointSeconds},
  });
}

}  // namespace highwater

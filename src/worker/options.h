#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/messages.h"
#include "core/result.h"
#include "core/run_options.h"
#include "process/connection.h"
#include "worker/checks/benchmark/benchmark_options.h"

namespace highwater::worker {

/// The dimensions of the model, and the preset that they come from.
struct ModelSize {
  std::string preset;
  std::uint32_t width = 0;
  std::uint32_t layers = 0;
  std::uint32_t heads = 0;
  std::uint32_t maxSequenceLength = 0;  ///< rows of the position embedding
};

/// The worker's command line, checked. What is absent is left to the scenario, the preset or the
/// device. Always given are lossEvery, accumulation, precision, seed, samplingHz, probeLevel and
/// checkpointSeconds; for an absent `preset` real MPS takes base, everything else small, and an
/// absent `outOfMemory` halves the batch.
struct Options : RunOptions {
  std::uint32_t width = 0, layers = 0, heads = 0;
  std::uint32_t maxSequenceLength = kPositionTableLength;
  std::optional<std::filesystem::path> heldOut;
  std::uint32_t evalEvery = 0;  ///< in steps; 0: only at the end
  std::vector<SetKnobs> changes;
  /// Ops whose fallback the user accepts. The worker only checks that they exist.
  std::vector<std::string> acceptedOps;
  process::HostAddress host;
  /// See checks/benchmark/: measure the CPU against the device, and print JSON lines.
  std::optional<BenchmarkOptions> benchmark;
  /// The descriptors of CheckpointSlots; absent: no checkpoints are written.
  std::optional<std::array<int, 2>> checkpoint;
  /// Continue from the checkpoint; the text says of which run, may be empty.
  std::optional<std::string> continues;
  bool autostart = false;  ///< train without waiting for a host
  bool describe = false;   ///< send Hello, then end
  bool dryCheck = false;   ///< see dry_check.h: print one JSON object instead of frames
  /// See self_test.h: ids of checks with commas between, or "list"; prints JSON lines.
  std::string selfTest;
  std::uint32_t selfTestLimitMs = 0;  ///< after which a check ends the process; 0: three minutes
  bool breakContract = false;         ///< for tests: leave batches on the CPU
};

/// Says that the command line was --help or --version, which has been answered on stdout.
struct Answered {};

/// Reads the command line. Returns Answered for --help and --version. Returns kUsage, which names
/// the option and what it allows, for a wrong one.
[[nodiscard]] Result<std::variant<Options, Answered>> parseOptions(int argc,
                                                                   const char* const* argv);

/// The model size and the knobs (settings that can change during a run, such as the batch size)
/// that a run starts with, defaults filled in.
struct Sizes {
  ModelSize model;
  Knobs knobs;  ///< memoryFraction 0: as the environment sets it
};
/// Fills in the sizes that the options leave open; the defaults depend on whether the device is
/// real MPS. Returns kUsage where the width is not a multiple of the heads, or the sequence length
/// is beyond the position table.
[[nodiscard]] Result<Sizes> resolveSizes(const Options& options, bool realMps);

}  // namespace highwater::worker

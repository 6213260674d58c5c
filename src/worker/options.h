#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/messages.h"
#include "core/model_files.h"
#include "core/result.h"
#include "core/run_limits.h"
#include "process/connection.h"
#include "worker/checks/benchmark/benchmark_options.h"
#include "worker/data/model_file.h"

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
/// device.
struct Options {
  std::string device = "auto";
  std::string workload = kBuiltInWorkload;  ///< or the path of a TorchScript file
  /// Absent: base on real MPS, small on everything else.
  std::optional<std::string> preset;
  std::optional<std::uint32_t> width, layers, heads;
  std::uint32_t maxSequenceLength = kPositionTableLength;
  std::optional<std::filesystem::path> data, heldOut;
  std::uint32_t steps = 0;  ///< 0: until stopped
  std::optional<std::uint32_t> batchSize, sequenceLength;
  std::uint32_t lossEvery = 10;
  std::uint32_t evalEvery = 0;  ///< in steps; 0: only at the end
  std::optional<double> learningRate;
  std::uint32_t accumulation = 1;
  Precision precision = Precision::kFloat32;
  double memoryFraction = 0;  ///< 0: as the environment sets it
  bool keepEffectiveBatch = false;
  /// kUnknown: halve the batch of the built-in workload, stop with a TorchScript file.
  OutOfMemoryPolicy outOfMemory = OutOfMemoryPolicy::kUnknown;
  std::uint64_t seed = 1;
  std::uint32_t samplingHz = 50;
  events::ProbeLevel probeLevel = events::ProbeLevel::Monitor;
  std::vector<SetKnobs> changes;
  /// Ops whose fallback the user accepts. The worker only checks that they exist.
  std::vector<std::string> acceptedOps;
  std::string scenario;  ///< see core/scenarios.h; empty: none
  process::HostAddress host;
  /// See checks/benchmark/: measure the CPU against the device, and print JSON lines.
  std::optional<BenchmarkOptions> benchmark;
  /// The descriptors of CheckpointSlots; absent: no checkpoints are written.
  std::optional<std::array<int, 2>> checkpoint;
  /// The shortest time between checkpoints; 0: one at each step that the costs allow.
  double checkpointSeconds = 10;
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
/// Fills in the sizes that the options leave open from the file of a TorchScript model. Returns
/// kUsage where the sequence length is beyond the longest of the file.
[[nodiscard]] Result<Sizes> resolveSizes(const Options& options, const ModelFile& model);

}  // namespace highwater::worker

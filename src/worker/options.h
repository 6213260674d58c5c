#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/messages.h"
#include "core/result.h"
#include "core/run_limits.h"

namespace highwater::worker {

/// The sizes of the model.
struct ModelSize {
  std::string preset;
  std::uint32_t width = 0;
  std::uint32_t layers = 0;
  std::uint32_t heads = 0;
  std::uint32_t maxSequenceLength = 0;  ///< length of the position table
};

/// Where the frames go.
struct StdioConnection {};
struct FdConnection {
  int fd = -1;
};
struct SocketConnection {
  std::filesystem::path socket;
  std::filesystem::path tokenFile;
};

struct Options {
  std::string device = "auto";
  std::string workload = "issue-classifier";
  /// Absent: small on the CPU and a simulated device, base on real MPS.
  std::optional<std::string> preset;
  std::optional<std::uint32_t> width, layers, heads;
  std::uint32_t maxSequenceLength = kPositionTableLength;
  std::optional<std::filesystem::path> data, heldOut;
  std::uint32_t steps = 0;  ///< 0: until stopped
  std::optional<std::uint32_t> batchSize, sequenceLength;
  std::uint32_t lossEvery = 10;
  std::uint32_t evalEvery = 0;  ///< 0: at the end only
  std::optional<double> learningRate;
  std::uint64_t seed = 1;
  std::uint32_t samplingHz = 50;
  events::ProbeLevel probeLevel = events::ProbeLevel::Monitor;
  std::vector<SetKnobs> changes;
  /// Ops of which the user says beforehand that their fallback is fine; checked, not obeyed.
  std::vector<std::string> acceptedOps;
  std::string scenario;        ///< of core/scenarios.h; empty: the workload as it is
  std::string recommendedMax;  ///< for the simulated device; empty: its own default
  std::variant<StdioConnection, FdConnection, SocketConnection> connection;
  bool autostart = false;
  bool describe = false;
  bool dryCheck = false;       ///< see dry_check.h: one JSON object on stdout instead of frames
  std::string selfTest;        ///< see self_test.h: a check's id, or "list"; answers as dryCheck
  bool breakContract = false;  ///< leaves the first batch on the CPU, to show the contract's check
};

/// The command line was a question that has been answered (--help, --version).
struct Answered {};

/// Reads the command line. kUsage: the message names the option and what is allowed.
[[nodiscard]] Result<std::variant<Options, Answered>> parseOptions(int argc,
                                                                   const char* const* argv);

/// What the options leave open, for a device that is real MPS or not. kUsage where sizes and knobs
/// do not fit together.
struct Sizes {
  ModelSize model;
  Knobs knobs;
  double learningRate = 0;
};
[[nodiscard]] Result<Sizes> resolveSizes(const Options& options, bool realMps);

}  // namespace highwater::worker

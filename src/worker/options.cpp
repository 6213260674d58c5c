#include "worker/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

#include "core/knobs.h"
#include "core/option_values.h"
#include "core/scenarios.h"
#include "core/version.h"

namespace highwater::worker {
namespace {

constexpr std::uint32_t kLongestPositionTable = 8192;
constexpr int kHighestDescriptor = 1 << 20;

struct Preset {
  const char* name;
  std::uint32_t width, layers, heads, batchSize, sequenceLength;
  double learningRate;
};
constexpr Preset kSmall{"small", 128, 2, 4, 16, 64, 1e-3};
constexpr Preset kBase{"base", 768, 4, 12, 32, 128, 1e-4};

/// The command line as given, with what is still to convert.
struct Given : Options {
  Given() {
    lossEvery = 10;
    accumulation = 1;
    precision = Precision::kFloat32;
    seed = 1;
    samplingHz = 50;
    probeLevel = events::ProbeLevel::Monitor;
    checkpointSeconds = 10;
    dtype = "float32";
  }

  bool stdio = false;
  std::optional<std::uint64_t> fd;
  std::string checkpointFiles, heldOutFile, continuedRun;
};

constexpr auto kOwnRows = std::to_array<OptionRow<Given>>({
    {{"--width", "N", "Width of the model", 8, 8192}, &Given::width},
    {{"--layers", "N", "Encoder layers", 1, 64}, &Given::layers},
    {{"--heads", "N", "Attention heads; the width is a multiple of it", 1, 128}, &Given::heads},
    {{"--max-seq", "N", "Longest sequence: rows of the position embedding", 8,
      kLongestPositionTable},
     &Given::maxSequenceLength},
    {{"--data-held-out", "FILE", "CSV file to evaluate on (default: a fifth of --data)"},
     &Given::heldOutFile},
    {{"--eval-every", "N", "Evaluate every N steps; 0: at the end only", 0, kMostRunSteps},
     &Given::evalEvery},
    {{"--stdio", "", "Frames on stdin and stdout"}, &Given::stdio},
    {{"--fd", "FD", "Frames on an inherited socket, its file descriptor", 0, kHighestDescriptor},
     &Given::fd},
    {{"--checkpoint", "FD,FD", "Keep checkpoints in two inherited files, their descriptors"},
     &Given::checkpointFiles},
    {{"--continue", "RUN", "Continue from the checkpoint; the text says of which run"},
     &Given::continuedRun},
    {{"--autostart", "", "Train without waiting for a host; ignore the end of stdin"},
     &Given::autostart},
    {{"--describe", "", "Send one frame that describes the worker and its device, then end"},
     &Given::describe},
    {{"--dry-check", "", "Run two steps on the CPU and print as JSON which of their ops MPS lacks"},
     &Given::dryCheck},
    {{"--self-test", "CHECK,...",
      "Run checks of the self-test and print a line of JSON for each; list: print all checks"},
     &Given::selfTest},
    {{"--self-test-limit", "MS",
      "Milliseconds after which a check of the self-test ends the process"},
     &Given::selfTestLimitMs},
    {{"--break-contract", "", "For tests: leave batches on the CPU"}, &Given::breakContract},
});

Result<void> resolveConnection(Given& given) {
  // These answer on stdout and have no host.
  if (given.dryCheck || given.benchmark || !given.selfTest.empty()) return {};
  if (given.stdio == given.fd.has_value()) {
    return usageError("give one of --stdio and --fd N, which say where the frames go");
  }
  if (given.fd) {
    given.host = process::FdConnection{static_cast<int>(*given.fd)};
  } else {
    given.host = process::StdioConnection{};
  }
  return {};
}

/// Reads "FD,FD".
Result<void> resolveCheckpoint(const std::string& text, Options& options) {
  if (text.empty()) {
    if (options.continues) return usageError("--continue needs --checkpoint FD,FD");
    return {};
  }
  const auto comma = text.find(',');
  if (comma == std::string::npos) {
    return usageError("--checkpoint is \"" + text + "\"; give two file descriptors: FD,FD");
  }
  const auto first =
      parseWhole("the first of --checkpoint", text.substr(0, comma), 0, kHighestDescriptor);
  if (!first) return first.error();
  const auto second =
      parseWhole("the second of --checkpoint", text.substr(comma + 1), 0, kHighestDescriptor);
  if (!second) return second.error();
  options.checkpoint = {*first, *second};
  return {};
}

Result<void> checkDtype(const std::string& dtype) {
  if (dtype == "float32") return {};
  if (dtype == "float16" || dtype == "bfloat16") {
    return usageError("--dtype " + dtype +
                      " is not supported by this workload: its parameters are float32; give "
                      "--precision " +
                      dtype + " for autocast");
  }
  if (dtype == "float64") return usageError("--dtype float64 does not exist on MPS; use float32");
  return usageError("--dtype " + dtype + " is unknown; use float32");
}

/// Takes the scenario's sizes where the command line gives none.
Result<void> applyScenario(const OptionTexts& texts, Options& options) {
  if (options.scenario.empty()) return {};
  const auto found = findScenario(options.scenario);
  if (!found) return usageError("--scenario: " + found.error().message);
  const Scenario& scenario = **found;
  if (!isGiven(texts, "--steps")) options.steps = scenario.steps;
  if (!isGiven(texts, "--loss-every")) options.lossEvery = scenario.lossEvery;
  if (options.batchSize == 0) options.batchSize = scenario.batchSize;
  if (options.sequenceLength == 0) options.sequenceLength = scenario.sequenceLength;
  return {};
}

template <typename T>
T orElse(T value, T standard) {
  return value == T{} ? standard : value;
}

/// The knobs of the options, with the values that depend on the preset.
Knobs knobsOf(const Options& options, const Knobs& standard) {
  Knobs knobs = static_cast<const Knobs&>(options);
  knobs.batchSize = orElse(options.batchSize, standard.batchSize);
  knobs.sequenceLength = orElse(options.sequenceLength, standard.sequenceLength);
  knobs.learningRate = orElse(options.learningRate, standard.learningRate);
  knobs.outOfMemory = orElse(options.outOfMemory, standard.outOfMemory);
  return knobs;
}

}  // namespace

Result<std::variant<Options, Answered>> parseOptions(int argc, const char* const* argv) {
  CLI::App app("Trains and measures itself; usually started by highwater", "highwater-worker");
  app.set_version_flag("--version", std::string("highwater-worker ") + kVersion);
  Given options;
  OptionTexts texts;
  std::vector<std::string> changes;
  BenchmarkTexts benchmark;
  const auto runRows = runOptionRows(kLongestPositionTable);
  for (const auto& row : runRows) {
    if (row.text.name != kHostOnlyOption) addOption(app, row, options, texts);
  }
  for (const auto& row : kOwnRows) addOption(app, row, options, texts);
  app.add_option("--set", changes,
                 "Change knobs at a step, for example 20:batch=32,seq=128 or 30:lr=1e-4")
      ->take_all()
      ->expected(1);
  app.add_option("--accepted-op", options.acceptedOps,
                 "An op whose fallback is accepted; refused where this PyTorch has no such op")
      ->take_all()
      ->expected(1);
  addBenchmarkOptions(app, kWorkerBenchmarkNames, benchmark);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& question) {
    app.exit(question, std::cout, std::cerr);
    return std::variant<Options, Answered>(Answered{});
  } catch (const CLI::ParseError& error) {
    return usageError(error.what());
  }
  // Only for tests of the probe.
  if (std::string& device = texts["--device"]; device == "cuda") {
    options.device = std::exchange(device, std::string());
  }
  if (auto fine = readOptions(runRows, texts, options); !fine) return fine.error();
  if (auto fine = readOptions(kOwnRows, texts, options); !fine) return fine.error();
  if (app.count("--continue") > 0) options.continues = options.continuedRun;
  if (!options.heldOutFile.empty()) {
    if (options.dataFile.empty()) return usageError("--data-held-out needs --data");
    options.heldOut = options.heldOutFile;
  }
  if (auto fine = checkDtype(options.dtype); !fine) return fine.error();
  if (isGiven(benchmark.options, kWorkerBenchmarkNames.parts)) {
    auto read = readBenchmarkOptions(benchmark);
    if (!read) return read.error();
    options.benchmark = std::move(*read);
  }
  if (auto fine = resolveConnection(options); !fine) return fine.error();
  if (auto fine = resolveCheckpoint(options.checkpointFiles, options); !fine) return fine.error();
  if (auto fine = applyScenario(texts, options); !fine) return fine.error();
  const KnobLimits limits{.sequenceLength = options.maxSequenceLength};
  for (const std::string& text : changes) {
    auto change = parseKnobChange(text, limits);
    if (!change) return std::move(change).error();
    options.changes.push_back(*change);
  }
  return std::variant<Options, Answered>(static_cast<Options&&>(options));
}

Result<Sizes> resolveSizes(const Options& options, bool realMps) {
  const bool isBase =
      options.preset.empty() ? realMps : options.preset == std::string_view(kBase.name);
  const Preset& preset = isBase ? kBase : kSmall;
  Sizes sizes;
  sizes.model = {preset.name, orElse(options.width, preset.width),
                 orElse(options.layers, preset.layers), orElse(options.heads, preset.heads),
                 options.maxSequenceLength};
  Knobs standard;
  standard.batchSize = preset.batchSize;
  standard.sequenceLength = std::min(preset.sequenceLength, options.maxSequenceLength);
  standard.learningRate = preset.learningRate;
  standard.outOfMemory = OutOfMemoryPolicy::kHalve;
  sizes.knobs = knobsOf(options, standard);
  if (sizes.model.width % sizes.model.heads != 0) {
    return usageError("--width " + std::to_string(sizes.model.width) +
                      " is not a multiple of --heads " + std::to_string(sizes.model.heads));
  }
  if (sizes.knobs.sequenceLength > options.maxSequenceLength) {
    return usageError("--seq " + std::to_string(sizes.knobs.sequenceLength) +
                      " is past the position table; allowed are 1 to " +
                      std::to_string(options.maxSequenceLength) + " (--max-seq)");
  }
  return sizes;
}

}  // namespace highwater::worker

#include "worker/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "core/knobs.h"
#include "core/model_files.h"
#include "core/names.h"
#include "core/option_values.h"
#include "core/run_limits.h"
#include "core/scenarios.h"
#include "core/version.h"

namespace highwater::worker {
namespace {

constexpr std::uint32_t kLongestPositionTable = 8192;

struct Preset {
  const char* name;
  std::uint32_t width, layers, heads, batchSize, sequenceLength;
  double learningRate;
};
constexpr Preset kSmall{"small", 128, 2, 4, 16, 64, 1e-3};
constexpr Preset kBase{"base", 768, 4, 12, 32, 128, 1e-4};

/// The connection options as given, before their combination is checked.
struct RawConnection {
  bool stdio = false;
  int fd = -1;
  std::string socket;
  std::string tokenFile;
  std::string checkpoint;
};

Result<void> resolveConnection(const RawConnection& raw, Options& options) {
  // These answer on stdout and have no host.
  if (options.dryCheck || options.benchmark || !options.selfTest.empty()) return {};
  const int ways = int{raw.stdio} + int{raw.fd >= 0} + int{!raw.socket.empty()};
  if (ways != 1) {
    return usageError(
        "give one of --stdio, --fd N and --connect SOCKET, which say where the frames go");
  }
  if (!raw.socket.empty()) {
    if (raw.tokenFile.empty()) return usageError("--connect needs --token-file FILE");
    options.host = process::SocketConnection{raw.socket, raw.tokenFile};
  } else if (raw.fd >= 0) {
    options.host = process::FdConnection{raw.fd};
  } else {
    options.host = process::StdioConnection{};
  }
  return {};
}

/// Reads "FD,FD".
Result<void> resolveCheckpoint(const std::string& text, Options& options) {
  if (text.empty()) {
    if (options.continues) return usageError("--continue needs --checkpoint FD,FD");
    return {};
  }
  constexpr int kHighest = 1 << 20;
  const auto comma = text.find(',');
  if (comma == std::string::npos) {
    return usageError("--checkpoint is \"" + text + "\"; give two file descriptors: FD,FD");
  }
  const auto first = parseWhole("the first of --checkpoint", text.substr(0, comma), 0, kHighest);
  if (!first) return first.error();
  const auto second = parseWhole("the second of --checkpoint", text.substr(comma + 1), 0, kHighest);
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

/// CLI11 prefixes a validator's message with the option's name, which our validators name already.
std::string messageOf(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ValidationError*>(&error) == nullptr) return text;
  const auto ours = text.find(": --");
  return ours == std::string::npos ? text : text.substr(ours + 2);
}

/// Refuses like the options of `highwater`. It also removes leading zeros, with which CLI11 would
/// read the number as octal.
template <typename T>
CLI::Validator wholeNumber(const char* name, T least, T most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto number = parseWhole<T>(name, text, least, most);
        if (!number) return number.error().message;
        text = std::to_string(*number);
        return {};
      },
      std::to_string(least) + " to " + std::to_string(most));
}

/// Refuses like the options of `highwater`.
CLI::Validator realNumber(const char* name, double least, double most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto number = parseReal(name, text, least, most);
        return number ? std::string() : number.error().message;
      },
      "NUMBER");
}

CLI::Validator oneOf(const char* name, std::vector<std::string_view> choices) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        const auto known = checkChoice(name, text, choices);
        return known ? std::string() : known.error().message;
      },
      "NAME");
}

CLI::Validator workloadName() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        if (text == kBuiltInWorkload || isModelFile(text)) return {};
        return refusedValue("--workload", text,
                            std::string(kBuiltInWorkload) +
                                ", or a TorchScript file, whose name ends in .pt")
            .message;
      },
      "NAME");
}

/// Refuses options of the built-in model where a TorchScript file is trained.
Result<void> checkModelOptions(const CLI::App& app, const Options& options) {
  if (!isModelFile(options.workload)) return {};
  for (const char* name : {"--preset", "--width", "--layers", "--heads", "--max-seq", "--data",
                           "--data-held-out", "--scenario"}) {
    if (app.count(name) == 0) continue;
    return usageError(std::string(name) + " is of the workload " + kBuiltInWorkload +
                      ": not together with a TorchScript file");
  }
  return {};
}

void addModelOptions(CLI::App& app, Options& o, std::string& dtype) {
  app.add_option("--workload", o.workload,
                 "What to train: issue-classifier, or a TorchScript file (.pt) with a JSON file "
                 "beside it")
      ->check(workloadName())
      ->capture_default_str();
  app.add_option("--preset", o.preset, "Size of the model: small, base")
      ->check(oneOf("--preset", {"small", "base"}));
  app.add_option("--width", o.width, "Width of the model")
      ->transform(wholeNumber("--width", 8, 8192));
  app.add_option("--layers", o.layers, "Encoder layers")->transform(wholeNumber("--layers", 1, 64));
  app.add_option("--heads", o.heads, "Attention heads; the width is a multiple of it")
      ->transform(wholeNumber("--heads", 1, 128));
  app.add_option("--max-seq", o.maxSequenceLength,
                 "Longest sequence: rows of the position embedding")
      ->transform(wholeNumber("--max-seq", 8u, kLongestPositionTable))
      ->capture_default_str();
  app.add_option("--dtype", dtype, "Type of the parameters: float32")->capture_default_str();
  app.add_option("--data", o.data,
                 "CSV file with the header text,label (default: the sample data set)");
  app.add_option("--data-held-out", o.heldOut,
                 "CSV file to evaluate on (default: a fifth of --data)")
      ->needs("--data");
}

/// Option values that name something, before they are converted.
struct RawTraining {
  std::vector<std::string> changes;
  std::string level;
  std::string precision = "float32";
  std::string outOfMemory;
};

void addTrainingOptions(CLI::App& app, Options& o, RawTraining& texts) {
  app.add_option("--device", o.device,
                 "auto, mps, sim (simulated MPS), cpu, or cuda (only for tests of the probe)")
      ->check(oneOf("--device", {"auto", "mps", "sim", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--steps", o.steps, "Steps to train; 0: until stopped")
      ->transform(wholeNumber("--steps", 0u, kMostRunSteps))
      ->capture_default_str();
  app.add_option("--batch", o.batchSize, "Batch size")
      ->transform(wholeNumber("--batch", 1u, kMostBatchSize));
  app.add_option("--seq", o.sequenceLength, "Sequence length, up to --max-seq")
      ->transform(wholeNumber("--seq", 1u, std::max(kLongestPositionTable, kLongestModelLength)));
  app.add_option("--loss-every", o.lossEvery, "Read the loss every N steps")
      ->transform(wholeNumber("--loss-every", 1u, kMostLossInterval))
      ->capture_default_str();
  app.add_option("--eval-every", o.evalEvery, "Evaluate every N steps; 0: at the end only")
      ->transform(wholeNumber("--eval-every", 0u, kMostRunSteps))
      ->capture_default_str();
  app.add_option("--lr", o.learningRate, "Learning rate of the optimizer")
      ->transform(realNumber("--lr", kLeastLearningRate, kMostLearningRate));
  app.add_option("--accumulate", o.accumulation, "Batches of a step, whose gradients are added up")
      ->transform(wholeNumber("--accumulate", 1u, kMostAccumulation))
      ->capture_default_str();
  app.add_flag("--keep-effective-batch", o.keepEffectiveBatch,
               "Keep batch size times accumulation when either changes");
  app.add_option("--precision", texts.precision,
                 "Type of the forward pass: float32, or bfloat16 or float16 by autocast")
      ->check(oneOf("--precision", {"float32", "bfloat16", "float16"}))
      ->capture_default_str();
  app.add_option("--memory-fraction", o.memoryFraction,
                 "Allocations fail beyond this multiple of recommended max")
      ->transform(realNumber("--memory-fraction", kLeastMemoryFraction, kMostMemoryFraction));
  app.add_option("--on-out-of-memory", texts.outOfMemory,
                 "After a step that ran out of memory: stop, retry (it, with an empty cache) or "
                 "halve (the batch) (default: halve; stop with a TorchScript file)")
      ->check(oneOf("--on-out-of-memory", {"stop", "retry", "halve"}));
  app.add_option("--seed", o.seed, "Seed of the weights and of the order of rows")
      ->capture_default_str();
  app.add_option("--sampling-hz", o.samplingHz, "Memory samples a second")
      ->transform(wholeNumber("--sampling-hz", 1u, kMostSamplingHz))
      ->capture_default_str();
  app.add_option("--level", texts.level,
                 "Detail of the measurement: off, monitor, or ops (every op)")
      ->check(oneOf("--level", {"off", "monitor", "ops"}))
      ->capture_default_str();
  app.add_option("--set", texts.changes,
                 "Change knobs at a step, for example 20:batch=32,seq=128 or 30:lr=1e-4")
      ->take_all()
      ->expected(1);
  app.add_option("--accepted-op", o.acceptedOps,
                 "An op whose fallback is accepted; refused where this PyTorch has no such op")
      ->take_all()
      ->expected(1);
  app.add_option("--scenario", o.scenario, "Name of a training program with one known problem");
}

/// Takes the scenario's sizes where the command line gives none.
Result<void> applyScenario(const CLI::App& app, Options& options) {
  if (options.scenario.empty()) return {};
  const auto found = findScenario(options.scenario);
  if (!found) return usageError("--scenario: " + found.error().message);
  const Scenario& scenario = **found;
  if (app.count("--steps") == 0) options.steps = scenario.steps;
  if (app.count("--loss-every") == 0) options.lossEvery = scenario.lossEvery;
  if (!options.batchSize) options.batchSize = scenario.batchSize;
  if (!options.sequenceLength) options.sequenceLength = scenario.sequenceLength;
  return {};
}

/// The knobs of the options, with the values that depend on what is trained.
Knobs knobsOf(const Options& options, std::uint32_t batchSize, std::uint32_t sequenceLength,
              double learningRate, OutOfMemoryPolicy policy) {
  Knobs knobs;
  knobs.batchSize = batchSize;
  knobs.sequenceLength = sequenceLength;
  knobs.lossEvery = options.lossEvery;
  knobs.learningRate = learningRate;
  knobs.accumulation = options.accumulation;
  knobs.precision = options.precision;
  knobs.memoryFraction = options.memoryFraction;
  knobs.keepEffectiveBatch = options.keepEffectiveBatch;
  const bool isOpen = options.outOfMemory == OutOfMemoryPolicy::kUnknown;
  knobs.outOfMemory = isOpen ? policy : options.outOfMemory;
  return knobs;
}

void addConnectionOptions(CLI::App& app, Options& o, RawConnection& raw) {
  app.add_flag("--stdio", raw.stdio, "Frames on stdin and stdout");
  app.add_option("--fd", raw.fd, "Frames on an inherited socket, its file descriptor")
      ->transform(wholeNumber("--fd", 0, 1 << 20));
  app.add_option("--connect", raw.socket, "Frames on a local socket, with --token-file");
  app.add_option("--token-file", raw.tokenFile, "File with the token for --connect");
  app.add_option("--checkpoint", raw.checkpoint,
                 "Keep checkpoints in two inherited files, their descriptors: FD,FD");
  app.add_option("--checkpoint-every", o.checkpointSeconds,
                 "Seconds between checkpoints, or more where they would take over 2 % of the time")
      ->transform(realNumber("--checkpoint-every", 0, 86'400))
      ->capture_default_str();
  app.add_option("--continue", o.continues,
                 "Continue from the checkpoint; the text says of which run");
  app.add_flag("--autostart", o.autostart,
               "Train without waiting for a host; ignore the end of stdin");
  app.add_flag("--describe", o.describe,
               "Send one frame that describes the worker and its device, then end");
  app.add_flag("--dry-check", o.dryCheck,
               "Run two steps on the CPU and print as JSON which of their ops MPS lacks");
  app.add_option("--self-test", o.selfTest,
                 "Run checks of the self-test, with commas between, and print a line of JSON for "
                 "each; list: print all checks");
  app.add_option("--self-test-limit", o.selfTestLimitMs,
                 "Milliseconds after which a check of the self-test ends the process");
  app.add_flag("--break-contract", o.breakContract)->group("");
}

}  // namespace

Result<std::variant<Options, Answered>> parseOptions(int argc, const char* const* argv) {
  CLI::App app("Trains and measures itself; usually started by highwater", "highwater-worker");
  app.set_version_flag("--version", std::string("highwater-worker ") + kVersion);
  Options options;
  RawConnection connection;
  std::string dtype = "float32";
  RawTraining texts;
  texts.level = probeLevelKey(options.probeLevel);
  BenchmarkTexts benchmark;
  addTrainingOptions(app, options, texts);
  addModelOptions(app, options, dtype);
  addConnectionOptions(app, options, connection);
  addBenchmarkOptions(app, benchmark);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& question) {
    app.exit(question, std::cout, std::cerr);
    return std::variant<Options, Answered>(Answered{});
  } catch (const CLI::ParseError& error) {
    return usageError(messageOf(error));
  }
  options.probeLevel = probeLevelFromKey(texts.level);
  options.precision = precisionFromName(texts.precision);
  options.outOfMemory = policyFromName(texts.outOfMemory);
  if (auto fine = checkDtype(dtype); !fine) return fine.error();
  if (!benchmark.parts.empty()) {
    auto read = readBenchmarkOptions(benchmark);
    if (!read) return read.error();
    options.benchmark = std::move(*read);
  }
  if (auto fine = resolveConnection(connection, options); !fine) return fine.error();
  if (auto fine = resolveCheckpoint(connection.checkpoint, options); !fine) return fine.error();
  if (auto fine = applyScenario(app, options); !fine) return fine.error();
  if (auto fine = checkModelOptions(app, options); !fine) return fine.error();
  // The limit of a TorchScript file is not known yet: RunControl checks again.
  const KnobLimits limits{.sequenceLength = isModelFile(options.workload)
                                                ? kLongestModelLength
                                                : options.maxSequenceLength};
  for (const std::string& text : texts.changes) {
    auto change = parseKnobChange(text, limits);
    if (!change) return std::move(change).error();
    options.changes.push_back(*change);
  }
  return std::variant<Options, Answered>(std::move(options));
}

Result<Sizes> resolveSizes(const Options& options, const ModelFile& model) {
  Sizes sizes;
  sizes.model.maxSequenceLength = model.maxLength;
  sizes.knobs =
      knobsOf(options, options.batchSize.value_or(model.batchSize),
              options.sequenceLength.value_or(model.length),
              options.learningRate.value_or(model.learningRate), OutOfMemoryPolicy::kStop);
  if (sizes.knobs.sequenceLength > model.maxLength) {
    return usageError("--seq " + std::to_string(sizes.knobs.sequenceLength) +
                      (model.maxLength == 1
                           ? " has no use: no shape of the model's inputs has a \"length\""
                           : " is too long; allowed are 1 to " + std::to_string(model.maxLength) +
                                 " (\"max_length\")"));
  }
  return sizes;
}

Result<Sizes> resolveSizes(const Options& options, bool realMps) {
  const Preset& preset =
      options.preset.value_or(realMps ? kBase.name : kSmall.name) == kBase.name ? kBase : kSmall;
  Sizes sizes;
  sizes.model = {preset.name, options.width.value_or(preset.width),
                 options.layers.value_or(preset.layers), options.heads.value_or(preset.heads),
                 options.maxSequenceLength};
  sizes.knobs = knobsOf(
      options, options.batchSize.value_or(preset.batchSize),
      options.sequenceLength.value_or(std::min(preset.sequenceLength, options.maxSequenceLength)),
      options.learningRate.value_or(preset.learningRate), OutOfMemoryPolicy::kHalve);
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

#include "cli/sweep_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "core/names.h"
#include "core/option_values.h"
#include "core/run_limits.h"
#include "run/sweep_run.h"

namespace highwater::cli {
namespace {

constexpr std::uint32_t kMostSettingSeconds = 86'400;
constexpr std::uint32_t kMostSettings = 64, kMostLengths = 16;
constexpr std::uint32_t kFewestSteps = 3, kMostSteps = 1000;
constexpr std::uint32_t kMostReservePercent = 90;

Result<std::vector<std::uint32_t>> readLengths(const std::string& text) {
  std::vector<std::uint32_t> lengths;
  for (const std::string& part : commaParts(text)) {
    const auto length =
        parseWhole<std::uint32_t>("a length of --lengths", part, 1U, kPositionTableLength);
    if (!length) return length.error();
    lengths.push_back(*length);
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  if (lengths.size() > kMostLengths) {
    return usageError("--lengths has " + std::to_string(lengths.size()) +
                      " lengths; give at most " + std::to_string(kMostLengths));
  }
  return lengths;
}

/// The options as numbers.
struct SweepNumbers {
  std::uint32_t largest = 0, smallest = 1, reserve = 10, settings = 8, steps = 8;
  std::uint32_t seconds = static_cast<std::uint32_t>(run::kLongestSettingS);
  std::string lengths, batchKnob, lengthKnob;
  bool onlyLargest = false;
};

constexpr auto kSweepRows = std::to_array<OptionRow<SweepNumbers>>({
    {{"--max-batch", "N", "Largest batch to try (default: what the memory allows)", 1,
      kMostBatchSize},
     &SweepNumbers::largest},
    {{"--min-batch", "N", "Smallest batch to try", 1, kMostBatchSize}, &SweepNumbers::smallest},
    {{"--lengths", "N,...", "Sequence lengths to try, as in 64,128; default: that of --seq"},
     &SweepNumbers::lengths},
    {{"--reserve", "PERCENT", "Percent of the recommended maximum to leave free", 0,
      kMostReservePercent},
     &SweepNumbers::reserve},
    {{"--settings", "N",
      "How many settings to measure at most; the fastest are measured three times", 1,
      kMostSettings},
     &SweepNumbers::settings},
    {{"--steps-per-setting", "N", "Steps to measure at each, after the warm-up", kFewestSteps,
      kMostSteps},
     &SweepNumbers::steps},
    {{"--setting-seconds", "N", "Seconds that a setting may take; slower ones are left out", 1,
      kMostSettingSeconds},
     &SweepNumbers::seconds},
    {{"--only-largest", "", "Find the largest safe batch only, not the best throughput"},
     &SweepNumbers::onlyLargest},
    {{"--batch-knob", "NAME",
      "Of your own program: the knob to turn; default: batch_size, else the DataLoader's"},
     &SweepNumbers::batchKnob},
    {{"--length-knob", "NAME", "Of your own program: the knob that --lengths turns"},
     &SweepNumbers::lengthKnob},
});

/// The first setting of the built-in workload, and what is recorded.
Result<void> readFirstSetting(const SweepNumbers& numbers, SweepCommandOptions& options) {
  session::LaunchOptions& launch = options.launch;
  tuning::SweepOptions& sweep = options.sweep.sweep;
  const std::uint32_t largest = sweep.largestBatch > 0 ? sweep.largestBatch : kMostBatchSize;
  // What the user names is measured first, whatever it takes.
  options.sweep.startsWithRun = launch.batchSize > 0;
  if (launch.batchSize == 0) {
    launch.batchSize = run::firstSweepBatch(sweep.smallestBatch, largest);
  } else if (launch.batchSize < sweep.smallestBatch || launch.batchSize > largest) {
    return usageError("--batch " + std::to_string(launch.batchSize) +
                      ", the first to measure, is not from " + std::to_string(sweep.smallestBatch) +
                      " to " + std::to_string(largest));
  }
  if (!sweep.lengths.empty()) {
    const auto& all = sweep.lengths;
    if (launch.sequenceLength == 0) {
      launch.sequenceLength = all.front();
    } else if (std::find(all.begin(), all.end(), launch.sequenceLength) == all.end()) {
      return usageError("--seq " + std::to_string(launch.sequenceLength) +
                        ", the first to measure, is not one of --lengths " + numbers.lengths);
    }
  }
  // What the first steps request is known best from the very first on.
  if (!launch.probeLevel) launch.probeLevel = events::ProbeLevel::Ops;
  options.sweep.level = launch.probeLevel == events::ProbeLevel::Off ? events::ProbeLevel::Off
                                                                     : events::ProbeLevel::Monitor;
  // A scenario would end after its own number of steps.
  if (!launch.scenario.empty()) launch.steps = kMostRunSteps;
  return {};
}

}  // namespace

void addSweepOptions(CLI::App& app, OptionTexts& texts) {
  SweepNumbers defaults;
  for (const auto& row : kSweepRows) addOption(app, row, defaults, texts);
}

Result<void> checkSweepOfProgram(const OptionTexts& run) {
  for (const auto& [name, text] : run) {
    if (text.empty()) continue;
    if (name != "--device") {
      return usageError(name +
                        " is of the built-in workload, and a sweep of your own program begins with "
                        "what the program sets itself; leave it out");
    }
    if (text != "auto" && text != "sim") {
      return refusedValue(name, text, "auto (as without Highwater) or sim, of your own program");
    }
  }
  return {};
}

Result<void> readSweepOptions(const OptionTexts& texts, SweepCommandOptions& options) {
  session::LaunchOptions& launch = options.launch;
  tuning::SweepOptions& sweep = options.sweep.sweep;
  SweepNumbers numbers;
  if (auto read = readOptions(kSweepRows, texts, numbers); !read) return read;
  sweep.smallestBatch = numbers.smallest;
  sweep.largestBatch = numbers.largest;
  options.sweep.measuredSteps = numbers.steps;
  sweep.longestSettingS = numbers.seconds;
  sweep.reserve = numbers.reserve / 100.0;
  sweep.mostSettings = numbers.settings;
  sweep.onlyLargest = numbers.onlyLargest;
  const std::uint32_t largest = sweep.largestBatch > 0 ? sweep.largestBatch : kMostBatchSize;
  if (sweep.smallestBatch > largest) {
    return usageError("the bounds leave no batch size: --min-batch " +
                      std::to_string(sweep.smallestBatch) + " is above --max-batch " +
                      std::to_string(largest));
  }
  if (!numbers.lengths.empty()) {
    auto lengths = readLengths(numbers.lengths);
    if (!lengths) return lengths.error();
    sweep.lengths = std::move(*lengths);
  }
  if (!options.script) {
    for (const char* name : {"--batch-knob", "--length-knob"}) {
      if (isGiven(texts, name)) {
        return usageError(std::string(name) +
                          " names a knob of your own program; give the program after --");
      }
    }
    return readFirstSetting(numbers, options);
  }
  if (!numbers.lengths.empty() && numbers.lengthKnob.empty()) {
    return usageError(
        "--lengths needs --length-knob NAME, the knob of your program that sets them");
  }
  options.sweep.knobs = {numbers.batchKnob, numbers.lengthKnob};
  session::ScriptOptions& script = *options.script;
  script.simulated = launch.device == "sim";
  if (!script.simulated && !launch.environment.isEmpty()) {
    return usageError("options of the simulated device need --device sim before your own program");
  }
  script.environment = launch.environment;
  script.probeLevel = QString::fromUtf8(probeLevelKey(events::ProbeLevel::Ops));
  script.isHeard = false;
  script.printsToStderr = true;
  options.sweep.level = events::ProbeLevel::Monitor;
  return {};
}

}  // namespace highwater::cli

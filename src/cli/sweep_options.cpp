#include "cli/sweep_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/model_files.h"
#include "core/option_values.h"
#include "core/run_limits.h"
#include "core/units.h"
#include "session/sweep_run.h"

namespace highwater::cli {
namespace {

constexpr std::uint32_t kMostSettingSeconds = 86'400;
constexpr std::uint32_t kMostSettings = 64, kMostLengths = 16;
constexpr std::uint32_t kFewestSteps = 3, kMostSteps = 1000;
constexpr std::uint32_t kMostReservePercent = 90;

Result<void> readWhole(const char* name, const std::string& text, std::uint32_t least,
                       std::uint32_t most, std::uint32_t& target) {
  if (text.empty()) return {};
  auto value = parseWhole<std::uint32_t>(name, text, least, most);
  if (!value) return value.error();
  target = *value;
  return {};
}

Result<std::vector<std::uint32_t>> readLengths(const std::string& text, std::uint32_t longest) {
  std::vector<std::uint32_t> lengths;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const auto length = parseWhole<std::uint32_t>("a length of --lengths",
                                                  text.substr(from, comma - from), 1U, longest);
    if (!length) return length.error();
    lengths.push_back(*length);
    from = comma + 1;
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  if (lengths.size() > kMostLengths) {
    return usageError("--lengths has " + std::to_string(lengths.size()) +
                      " lengths; give at most " + std::to_string(kMostLengths));
  }
  return lengths;
}

}  // namespace

void addSweepOptions(CLI::App& app, SweepTexts& texts) {
  const auto add = [&app](const char* name, std::string& text, const std::string& help,
                          const char* type) {
    auto* option = app.add_option(name, text, help)->type_name(type);
    if (!text.empty()) option->capture_default_str();
  };
  add("--max-batch", texts.maxBatch, "Largest batch to try; default: what the memory allows", "N");
  add("--min-batch", texts.minBatch, "Smallest batch to try", "N");
  add("--lengths", texts.lengths, "Sequence lengths to try, as in 64,128; default: that of --seq",
      "N,...");
  add("--reserve", texts.reserve, "Percent of the recommended maximum to leave free", "PERCENT");
  add("--settings", texts.settings, "How many settings to measure at most", "N");
  add("--steps-per-setting", texts.stepsPerSetting, "Steps to measure at each, after the warm-up",
      "N");
  add("--setting-seconds", texts.settingSeconds,
      "Seconds that a setting may take; slower ones are left out (default " +
          formatDecimals(session::kLongestSettingS, 0) + ')',
      "N");
  app.add_flag("--only-largest", texts.onlyLargest,
               "Find the largest safe batch only, not the best throughput");
}

Result<void> readSweepOptions(const SweepTexts& texts, SweepCommandOptions& options) {
  session::LaunchOptions& launch = options.launch;
  tuning::SweepOptions& sweep = options.sweep.sweep;
  std::uint32_t reserve = 10, settings = 8;
  const std::uint32_t longest =
      isModelFile(launch.workload.toStdString()) ? kLongestModelLength : kPositionTableLength;
  if (auto read = readWhole("--min-batch", texts.minBatch, 1, kMostBatchSize, sweep.smallestBatch);
      !read) {
    return read;
  }
  if (auto read = readWhole("--max-batch", texts.maxBatch, 1, kMostBatchSize, sweep.largestBatch);
      !read) {
    return read;
  }
  if (auto read = readWhole("--reserve", texts.reserve, 0, kMostReservePercent, reserve); !read) {
    return read;
  }
  if (auto read = readWhole("--settings", texts.settings, 1, kMostSettings, settings); !read) {
    return read;
  }
  if (auto read = readWhole("--steps-per-setting", texts.stepsPerSetting, kFewestSteps, kMostSteps,
                            options.sweep.measuredSteps);
      !read) {
    return read;
  }
  std::uint32_t seconds = static_cast<std::uint32_t>(session::kLongestSettingS);
  if (auto read =
          readWhole("--setting-seconds", texts.settingSeconds, 1, kMostSettingSeconds, seconds);
      !read) {
    return read;
  }
  sweep.longestSettingS = seconds;
  sweep.reserve = reserve / 100.0;
  sweep.mostSettings = settings;
  sweep.onlyLargest = texts.onlyLargest;
  const std::uint32_t largest = sweep.largestBatch > 0 ? sweep.largestBatch : kMostBatchSize;
  if (sweep.smallestBatch > largest) {
    return usageError("the bounds leave no batch size: --min-batch " +
                      std::to_string(sweep.smallestBatch) + " is above --max-batch " +
                      std::to_string(largest));
  }
  // What the user names is measured first, whatever it takes.
  options.sweep.startsWithRun = launch.batchSize > 0;
  if (launch.batchSize == 0) {
    launch.batchSize = session::firstSweepBatch(sweep.smallestBatch, largest);
  } else if (launch.batchSize < sweep.smallestBatch || launch.batchSize > largest) {
    return usageError("--batch " + std::to_string(launch.batchSize) +
                      ", the first to measure, is not from " + std::to_string(sweep.smallestBatch) +
                      " to " + std::to_string(largest));
  }
  if (!texts.lengths.empty()) {
    auto lengths = readLengths(texts.lengths, longest);
    if (!lengths) return lengths.error();
    sweep.lengths = std::move(*lengths);
    const auto& all = sweep.lengths;
    if (launch.sequenceLength == 0) {
      launch.sequenceLength = all.front();
    } else if (std::find(all.begin(), all.end(), launch.sequenceLength) == all.end()) {
      return usageError("--seq " + std::to_string(launch.sequenceLength) +
                        ", the first to measure, is not one of --lengths " + texts.lengths);
    }
  }
  // What the first steps request is known best from the very first on.
  if (launch.probeLevel.isEmpty()) launch.probeLevel = QStringLiteral("ops");
  options.sweep.level = launch.probeLevel == QLatin1String("off") ? events::ProbeLevel::Off
                                                                  : events::ProbeLevel::Monitor;
  // A scenario would end after its own number of steps.
  if (!launch.scenario.isEmpty()) launch.steps = kMostRunSteps;
  return {};
}

}  // namespace highwater::cli

#include "cli/run_options.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <set>

#include "core/knobs.h"
#include "core/model_files.h"
#include "core/option_values.h"
#include "core/run_limits.h"
#include "core/scenarios.h"

namespace highwater::cli {
namespace {

constexpr std::string_view kDevices[] = {"auto", "mps", "sim", "cpu"};
constexpr std::string_view kPresets[] = {"small", "base"};
constexpr std::string_view kLevels[] = {"off", "monitor", "ops"};

template <typename T>
Result<void> readNumber(const std::string& name, const std::string& text, T least, T most,
                        T& target) {
  if (text.empty()) return {};
  auto value = parseWhole<T>(name, text, least, most);
  if (!value) return value.error();
  target = *value;
  return {};
}

Result<void> checkNames(const RunTexts& texts) {
  if (auto known = checkChoice("--device", texts.device, kDevices); !known) return known;
  if (!texts.preset.empty()) {
    if (auto known = checkChoice("--preset", texts.preset, kPresets); !known) return known;
  }
  if (!texts.level.empty()) {
    if (auto known = checkLevel(texts.level); !known) return known;
  }
  if (texts.scenario.empty()) return {};
  const auto scenario = findScenario(texts.scenario);
  return scenario ? Result<void>() : scenario.error();
}

/// The longest sequence that the worker may allow: of a TorchScript file only it knows.
std::uint32_t longestOf(const RunTexts& texts) {
  return isModelFile(texts.workload) ? kLongestModelLength : kPositionTableLength;
}

Result<void> readSchedule(const RunTexts& texts, session::LaunchOptions& options) {
  std::set<std::pair<std::uint32_t, int>> named;
  for (const std::string& text : texts.set) {
    auto knobs = parseKnobChange(text, {.sequenceLength = longestOf(texts)});
    if (!knobs) return knobs.error();
    if (options.steps != 0 && knobs->atStep > options.steps) {
      return usageError("--set " + text + " names step " + std::to_string(knobs->atStep) +
                        ", but the run ends with step " + std::to_string(options.steps));
    }
    int knob = 0;
    for (const auto& value : {knobs->batchSize, knobs->sequenceLength, knobs->lossEvery}) {
      if (value && !named.emplace(knobs->atStep, knob).second) {
        return usageError("--set " + text + " changes the same knob at the same step again");
      }
      ++knob;
    }
    options.scheduledKnobs.push_back(*knobs);
  }
  return {};
}

std::string upTo(std::uint32_t most) {
  return ", 1 to " + std::to_string(most);
}

}  // namespace

Result<void> checkLevel(const std::string& text) {
  return checkChoice("--level", text, kLevels);
}

std::string batchHelp() {
  return "Batch size" + upTo(kMostBatchSize);
}
std::string lengthHelp() {
  return "Sequence length in tokens" + upTo(kPositionTableLength);
}

void addRunOptions(CLI::App& app, RunTexts& texts, const char* group) {
  const auto add = [&](const char* name, std::string& text, const std::string& help,
                       const char* type) {
    auto* option = app.add_option(name, text, help)->type_name(type);
    if (!text.empty()) option->capture_default_str();
    if (group != nullptr) option->group(group);
  };
  add("--scenario", texts.scenario, "A training program with one known problem: " + scenarioNames(),
      "NAME");
  add("--device", texts.device, "auto, mps, sim (simulated mps) or cpu", "NAME");
  app.add_option("--workload", texts.workload, "issue-classifier (default) or a TorchScript file")
      ->type_name("NAME")
      ->group(group != nullptr ? group : app.get_help_ptr()->get_group());
  add("--preset", texts.preset, "Size of the model: small or base", "NAME");
  add("--data", texts.data, "CSV file with the columns text and label", "FILE");
  add("--batch", texts.batch, batchHelp(), "N");
  add("--seq", texts.seq, lengthHelp(), "N");
  add("--dtype", texts.dtype, "Type of the weights, for example float32", "TYPE");
  add("--loss-every", texts.lossEvery, "Read the loss every N steps" + upTo(kMostLossInterval),
      "N");
  add("--seed", texts.seed, "Seed of the random numbers", "N");
  add("--sampling-hz", texts.samplingHz, "Memory samples a second" + upTo(kMostSamplingHz), "N");
  add("--level", texts.level, "What is recorded: off, monitor or ops (every op)", "NAME");
  texts.sim.addTo(app);
}

Result<session::LaunchOptions> readRunOptions(const RunTexts& texts) {
  if (auto known = checkNames(texts); !known) return known.error();
  session::LaunchOptions options;
  options.device = QString::fromStdString(texts.device);
  options.workload = QString::fromStdString(texts.workload);
  options.preset = QString::fromStdString(texts.preset);
  options.dataFile = QString::fromStdString(texts.data);
  options.dtype = QString::fromStdString(texts.dtype);
  options.probeLevel = QString::fromStdString(texts.level);
  options.scenario = QString::fromStdString(texts.scenario);
  auto environment = texts.sim.environment(texts.device);
  if (!environment) return environment.error();
  options.environment = *environment;
  std::uint64_t seed = 0;
  const std::uint64_t mostSeed = std::numeric_limits<std::uint64_t>::max();
  for (const auto& read : std::initializer_list<std::function<Result<void>()>>{
           [&] { return readNumber("--steps", texts.steps, 1u, kMostRunSteps, options.steps); },
           [&] {
             return readNumber("--batch", texts.batch, 1u, kMostBatchSize, options.batchSize);
           },
           [&] {
             return readNumber("--seq", texts.seq, 1u, longestOf(texts), options.sequenceLength);
           },
           [&] {
             return readNumber("--loss-every", texts.lossEvery, 1u, kMostLossInterval,
                               options.lossEvery);
           },
           [&] {
             return readNumber("--sampling-hz", texts.samplingHz, 1, int{kMostSamplingHz},
                               options.samplingHz);
           },
           [&] { return readNumber("--seed", texts.seed, std::uint64_t{0}, mostSeed, seed); },
           [&] { return readSchedule(texts, options); },
       }) {
    if (auto done = read(); !done) return done.error();
  }
  if (!texts.seed.empty()) options.seed = seed;
  return options;
}

}  // namespace highwater::cli

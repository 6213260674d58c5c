#include "cli/run_options.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <set>

#include "cli/help_text.h"
#include "core/knobs.h"
#include "core/model_files.h"
#include "core/option_values.h"
#include "core/run_limits.h"
#include "core/scenarios.h"

namespace highwater::cli {
namespace {

constexpr std::string_view kWorkerDevices[] = {"auto", "mps", "sim", "cpu"};
constexpr std::string_view kPresets[] = {"small", "base"};
constexpr std::string_view kPrecisionNames[] = {"float32", "bfloat16", "float16"};
constexpr std::string_view kPolicyNames[] = {"stop", "retry", "halve"};
constexpr std::string_view kAbortNames[] = {"stop", "restart"};
constexpr double kMostCheckpointSeconds = 86'400;
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

Result<void> readRealNumber(const std::string& name, const std::string& text, double least,
                            double most, double& target) {
  if (text.empty()) return {};
  auto value = parseReal(name, text, least, most);
  if (!value) return value.error();
  target = *value;
  return {};
}

Result<void> checkNames(const RunTexts& texts) {
  if (auto known = checkChoice("--device", texts.device, kWorkerDevices); !known) return known;
  if (!texts.preset.empty()) {
    if (auto known = checkChoice("--preset", texts.preset, kPresets); !known) return known;
  }
  if (!texts.level.empty()) {
    if (auto known = checkLevel(texts.level); !known) return known;
  }
  if (!texts.precision.empty()) {
    const auto known = checkChoice("--precision", texts.precision, kPrecisionNames);
    if (!known) return known;
  }
  if (!texts.outOfMemory.empty()) {
    const auto known = checkChoice("--on-out-of-memory", texts.outOfMemory, kPolicyNames);
    if (!known) return known;
  }
  if (!texts.onAbort.empty()) {
    const auto known = checkChoice("--on-abort", texts.onAbort, kAbortNames);
    if (!known) return known;
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
  std::set<std::pair<std::uint32_t, events::MarkerKind>> named;
  for (const std::string& text : texts.set) {
    auto knobs = parseKnobChange(text, {.sequenceLength = longestOf(texts)});
    if (!knobs) return knobs.error();
    if (options.steps != 0 && knobs->atStep > options.steps) {
      return usageError("--set " + text + " names step " + std::to_string(knobs->atStep) +
                        ", but the run ends with step " + std::to_string(options.steps));
    }
    for (const Knob& knob : allKnobs()) {
      if (knob.requested(*knobs) && !named.emplace(knobs->atStep, knob.kind).second) {
        return usageError("--set " + text + " changes the same knob at the same step again");
      }
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
    return option;
  };
  const char* const more = group != nullptr ? group : kKnobsGroup;
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
  add("--lr", texts.learningRate, "Learning rate of the optimizer", "RATE")->group(more);
  add("--accumulate", texts.accumulation,
      "Batches of a step, whose gradients are added up" + upTo(kMostAccumulation), "N")
      ->group(more);
  app.add_flag("--keep-effective-batch", texts.keepEffectiveBatch,
               "Keep batch size times accumulation when either changes")
      ->group(more);
  add("--precision", texts.precision,
      "Type of the forward pass: float32, or bfloat16 or float16 by autocast", "TYPE")
      ->group(more);
  add("--memory-fraction", texts.memoryFraction,
      "Allocations fail beyond this multiple of recommended max, 0.01 to 2", "RATIO")
      ->group(more);
  add("--on-out-of-memory", texts.outOfMemory,
      "After a step that ran out of memory: halve (the batch; the default), retry, or stop", "NAME")
      ->group(more);
  add("--seed", texts.seed, "Seed of the random numbers", "N")->group(more);
  add("--sampling-hz", texts.samplingHz, "Memory samples a second" + upTo(kMostSamplingHz), "N");
  add("--level", texts.level, "What is recorded: off, monitor or ops (every op)", "NAME");
  texts.sim.addTo(app);
}

void addAbortOptions(CLI::App& app, RunTexts& texts, const char* group) {
  const char* const more = group != nullptr ? group : kKnobsGroup;
  app.add_option("--on-abort", texts.onAbort,
                 "After the worker was killed by a signal: stop, or restart (continue from the "
                 "last checkpoint with half the batch; ends after 3 aborts without progress, or 5 "
                 "new workers that are killed before a step)")
      ->type_name("NAME")
      ->group(more);
  app.add_option("--checkpoint-every", texts.checkpointEvery,
                 "Seconds between these checkpoints, 0 to 86400; never more than 2 % of the time "
                 "(default 10)")
      ->type_name("S")
      ->group(more);
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
  options.keepEffectiveBatch = texts.keepEffectiveBatch;
  options.precision = precisionFromName(texts.precision);
  options.outOfMemory = policyFromName(texts.outOfMemory);
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
             return readRealNumber("--lr", texts.learningRate, kLeastLearningRate,
                                   kMostLearningRate, options.learningRate);
           },
           [&] {
             return readNumber("--accumulate", texts.accumulation, 1u, kMostAccumulation,
                               options.accumulation);
           },
           [&] {
             return readRealNumber("--memory-fraction", texts.memoryFraction, kLeastMemoryFraction,
                                   kMostMemoryFraction, options.memoryFraction);
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
  if (texts.onAbort == "restart") options.afterAbort = session::AfterAbort::kRestart;
  if (texts.onAbort == "stop") options.afterAbort = session::AfterAbort::kStop;
  if (!texts.checkpointEvery.empty()) {
    options.checkpointSeconds = 0;
    auto read = readRealNumber("--checkpoint-every", texts.checkpointEvery, 0,
                               kMostCheckpointSeconds, *options.checkpointSeconds);
    if (!read) return read.error();
  }
  return options;
}

}  // namespace highwater::cli

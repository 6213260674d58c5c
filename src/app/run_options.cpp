#include "app/run_options.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <set>

#include "app/number_options.h"
#include "app/options.h"
#include "core/scenarios.h"
#include "wire/limits.h"

namespace highwater::app {
namespace {

constexpr int kMostSamplingHz = 1000;

template <typename T>
Result<void> readNumber(const std::string& name, const std::string& text, T least, T most,
                        T& target) {
  if (text.empty()) return {};
  auto value = parseWhole<T>(name, text, least, most);
  if (!value) return value.error();
  target = *value;
  return {};
}

Result<void> readSchedule(const RunTexts& texts, session::LaunchOptions& options) {
  std::set<std::pair<std::uint32_t, int>> named;
  for (const std::string& text : texts.set) {
    auto knobs = parseScheduledKnobs(text);
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

}  // namespace

void addRunOptions(CLI::App& app, RunTexts& texts) {
  app.add_option("--device", texts.device, "auto, mps, sim (simulated mps) or cpu")
      ->check(CLI::IsMember({"auto", "mps", "sim", "cpu"}))
      ->capture_default_str();
  app.add_option("--workload", texts.workload, "What to train")->capture_default_str();
  app.add_option("--preset", texts.preset, "Size of the model: small or base")
      ->check(CLI::IsMember({"small", "base"}));
  app.add_option("--data", texts.data, "CSV file with the columns text and label")
      ->type_name("FILE");
  app.add_option("--batch", texts.batch, "Batch size")->type_name("N");
  app.add_option("--seq", texts.seq, "Sequence length in tokens")->type_name("N");
  app.add_option("--dtype", texts.dtype, "Type of the weights, for example float32");
  app.add_option("--loss-every", texts.lossEvery, "Read the loss every N steps")->type_name("N");
  app.add_option("--seed", texts.seed, "Seed of the random numbers")->type_name("N");
  app.add_option("--sampling-hz", texts.samplingHz, "Memory samples a second, 1 to 1000")
      ->type_name("N");
  app.add_option("--level", texts.level, "How closely to look: off, monitor or ops (every op)")
      ->check(CLI::IsMember({"off", "monitor", "ops"}));
  app.add_option("--scenario", texts.scenario,
                 "A training program with one known problem: " + scenarioNames())
      ->type_name("NAME");
  texts.sim.addTo(app);
}

Result<session::LaunchOptions> readRunOptions(const RunTexts& texts) {
  session::LaunchOptions options;
  options.device = QString::fromStdString(texts.device);
  options.workload = QString::fromStdString(texts.workload);
  options.preset = QString::fromStdString(texts.preset);
  options.dataFile = QString::fromStdString(texts.data);
  options.dtype = QString::fromStdString(texts.dtype);
  options.probeLevel = QString::fromStdString(texts.level);
  if (!texts.scenario.empty()) {
    if (auto known = findScenario(texts.scenario); !known) return known.error();
    options.scenario = QString::fromStdString(texts.scenario);
  }
  auto environment = texts.sim.environment(texts.device);
  if (!environment) return environment.error();
  options.environment = *environment;
  std::uint64_t seed = 0;
  const std::uint64_t mostSeed = std::numeric_limits<std::uint64_t>::max();
  for (const auto& read : std::initializer_list<std::function<Result<void>()>>{
           [&] { return readNumber("--steps", texts.steps, 1u, kMostSteps, options.steps); },
           [&] {
             return readNumber("--batch", texts.batch, 1u, wire::kMaxBatchSize, options.batchSize);
           },
           [&] {
             return readNumber("--seq", texts.seq, 1u, wire::kMaxSequenceLength,
                               options.sequenceLength);
           },
           [&] {
             return readNumber("--loss-every", texts.lossEvery, 1u, kMostLossEvery,
                               options.lossEvery);
           },
           [&] {
             return readNumber("--sampling-hz", texts.samplingHz, 1, kMostSamplingHz,
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

}  // namespace highwater::app

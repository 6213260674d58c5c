// How many settings, steps and times out of memory it takes to find the largest safe batch, beside
// a search by doubling; and how well peaks are predicted at settings that were not tried. On the
// simulated device, each trial in a fresh worker. docs/performance.md has the figures.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "bench/batch_finder.h"
#include "bench/harness.h"
#include "core/units.h"
#include "support/recorded_frames.h"
#include "tuning/observations.h"
#include "tuning/sweep_planner.h"

using namespace highwater;
using namespace highwater::tuning;

namespace {

constexpr std::uint32_t kTunerSteps = 4, kFinderSteps = 3, kTruthSteps = 3;
/// The tuner may stop a sample or 2 % below the largest safe batch.
double shortestBy(std::uint32_t truth) {
  return std::max(1.0, 0.02 * truth);
}

const bench::Bench kBench{"tuner",
                          "The largest safe batch: planned by the memory model, and by doubling",
                          "a search by doubling and halving",
                          {{"settings", 4},
                           {"out_of_memory", 0},  // short_of_largest: shortestBy()
                           {"untried_driver_wrong", 0},
                           {"pairs_failed", 0}}};

/// A prediction counts as right within this share, or within one heap.
constexpr double kGoodShare = 0.03;
constexpr std::uint64_t kHeap = 32 * kMiB;

struct Choices {
  std::filesystem::path worker;
  std::string limits = "160MiB,256MiB,1GiB", only;
  std::uint32_t most = 512;
  bool peer = true;
};

struct Model {
  std::string name, options;
  std::uint32_t length = 0;  ///< of the sequences
  Setting start;
};

struct Trial {
  Observation memory;
  std::optional<StepTrace> trace;
  std::vector<double> tokensPerS;
  MemoryLimits limits;
  std::uint64_t parameters = 0;
  bool outOfMemory = false;
};

/// Trains in a fresh worker and reads what it measured.
Trial train(const Choices& choices, const Model& model, std::uint64_t recommended,
            std::uint32_t batch, std::uint32_t steps, bool ops) {
  const std::string command = "HIGHWATER_SIM_RECOMMENDED_MAX=" + std::to_string(recommended) + ' ' +
                              choices.worker.string() +
                              " --stdio --autostart --device sim --on-out-of-memory stop --steps " +
                              std::to_string(steps) + " --sampling-hz 200 --batch " +
                              std::to_string(batch) + " --seq " + std::to_string(model.length) +
                              " --level " + (ops ? "ops " : "monitor ") + model.options;
  FILE* output = ::popen((command + " 2>/dev/null </dev/null").c_str(), "r");
  if (!output) throw std::runtime_error("the worker cannot be started");
  analysis::LiveStore store;
  std::string failure;
  test::forEachFrame(output, [&](const Message& message) {
    if (const auto* failed = std::get_if<Failure>(&message)) failure = failed->message;
    store.apply(message);
  });
  ::pclose(output);
  Trial trial;
  const auto isOutOfMemory = [](const events::Marker& marker) {
    return marker.kind() == events::MarkerKind::OutOfMemory;
  };
  trial.outOfMemory = store.steps().records.size() < steps &&
                      (std::any_of(store.markers().begin(), store.markers().end(), isOutOfMemory) ||
                       failure.find("out of memory") != std::string::npos);
  if (!trial.outOfMemory && store.steps().records.size() < steps) {
    throw std::runtime_error(model.name + ": " + (failure.empty() ? command : failure));
  }
  if (store.hello()) trial.limits = store.hello()->limits;
  if (store.run()) trial.parameters = store.run()->parameters;
  trial.memory.setting = {batch, model.length};
  if (trial.outOfMemory) return trial;
  trial.memory = observationsOf(store).front();
  const auto traces = tracesOf(store);
  if (!traces.empty()) trial.trace = traces.front();
  for (std::size_t row = 1; row < store.steps().records.size(); ++row) {
    trial.tokensPerS.push_back(store.steps().tokensPerS.values()[row]);
  }
  return trial;
}

struct Pair {
  std::string model;
  std::uint64_t recommended = 0;
  std::size_t settings = 0;
  std::uint32_t steps = 0;
  int outOfMemory = 0;
  std::uint32_t found = 0, truth = 0;
  std::size_t predicted = 0, currentGood = 0, driverGood = 0;
  double worstCurrent = 0;
  bench::FoundBatch peer = {};
  std::uint32_t peerSteps = 0;
  std::vector<std::uint32_t> tried = {};
};

Pair compare(const Choices& choices, const Model& model, std::uint64_t recommended) {
  Pair pair{.model = model.name, .recommended = recommended};
  const MemoryLimits limits{
      .recommendedBytes = recommended, .lowWatermarkRatio = 1.4, .highWatermarkRatio = 1.7};
  auto made = SweepPlanner::make({.largestBatch = choices.most,
                                  .lengths = {model.length},
                                  .start = model.start,
                                  .mostSettings = 10,
                                  .onlyLargest = true},
                                 limits);
  if (!made) throw std::runtime_error(made.error().message);
  SweepPlanner& planner = *made;
  while (const auto step = planner.next()) {
    Trial trial = train(choices, model, recommended, step->setting.batch, kTunerSteps, true);
    ++pair.settings;
    pair.steps += kTunerSteps;
    pair.outOfMemory += trial.outOfMemory ? 1 : 0;
    pair.tried.push_back(step->setting.batch);
    SweptSetting measured{trial.memory};
    measured.outOfMemory = trial.outOfMemory;
    measured.setThroughput(std::move(trial.tokensPerS));
    planner.record(std::move(measured), std::move(trial.trace));
  }
  // The largest that it has measured and found safe.
  const Sweep result = planner.result();
  for (const SweptSetting& each : result.settings) {
    if (each.safe) pair.found = std::max(pair.found, each.setting.batch);
  }

  // The truth: by bisection in fresh workers, then upwards while batches fit, because driver memory
  // is not monotone.
  std::map<std::uint32_t, Trial> truth;
  const std::uint64_t limit = planner.limitBytes();
  const auto isSafe = [&](std::uint32_t batch) {
    auto [place, isNew] = truth.try_emplace(batch);
    if (isNew) place->second = train(choices, model, recommended, batch, kTruthSteps, false);
    return !place->second.outOfMemory && place->second.memory.peakDriver <= limit;
  };
  std::uint32_t low = 0, high = choices.most + 1;
  if (pair.found > 0 && isSafe(pair.found)) low = pair.found;
  // From where the tuner stopped, by steps that double.
  for (std::uint32_t width = 1; low > 0 && low + width < high; width *= 2) {
    if (isSafe(low + width)) {
      low += width;
    } else {
      high = low + width;
    }
  }
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (isSafe(middle) ? low : high) = middle;
  }
  for (std::uint32_t above = low + 1; above <= std::min(choices.most, low + 3); ++above) {
    if (isSafe(above)) low = above;
  }
  pair.truth = low;
  for (const std::uint32_t batch : {model.start.batch * 2, low / 2, low * 3 / 4}) {
    if (batch > 0 && batch <= choices.most) (void)isSafe(batch);
  }
  for (const auto& [batch, trial] : truth) {
    const bool tried = std::find(pair.tried.begin(), pair.tried.end(), batch) != pair.tried.end();
    if (tried || trial.outOfMemory || !planner.model()) continue;
    ++pair.predicted;
    const auto near = [](std::uint64_t a, std::uint64_t b, std::uint64_t heap) {
      const std::uint64_t off = a > b ? a - b : b - a;
      return off <= std::max<std::uint64_t>(heap, wholeBytes(kGoodShare * static_cast<double>(b)));
    };
    const Prediction current = planner.model()->current({batch, model.length});
    const Prediction driver = planner.model()->driver({batch, model.length});
    pair.currentGood += near(current.bytes, trial.memory.peakCurrent, 0) ? 1 : 0;
    pair.driverGood += near(driver.bytes, trial.memory.peakDriver, kHeap) ? 1 : 0;
    pair.worstCurrent =
        std::max(pair.worstCurrent, std::abs(static_cast<double>(current.bytes) /
                                                 static_cast<double>(trial.memory.peakCurrent) -
                                             1));
  }

  if (choices.peer) {
    pair.peer = bench::findByDoubling(choices.most, [&](std::uint32_t batch) {
      const bool fits = !train(choices, model, recommended, batch, kFinderSteps, false).outOfMemory;
      pair.peerSteps += kFinderSteps;
      return fits;
    });
  }
  return pair;
}

void addRows(const Pair& pair, bench::Report& report) {
  const std::string setting = pair.model + ", " + formatBytes(pair.recommended);
  const auto add = [&](const char* name, const char* unit, double value,
                       std::optional<double> goal = {}) {
    report.rows.push_back(bench::exact(name, setting, unit, value, goal));
  };
  const auto count = [](std::size_t of) { return static_cast<double>(of); };
  add("settings", "", count(pair.settings));
  add("steps", "", pair.steps);
  add("out_of_memory", "", pair.outOfMemory);
  add("found", "samples", pair.found);
  add("largest_safe", "samples", pair.truth);
  add("short_of_largest", "samples", count(pair.truth) - count(pair.found), shortestBy(pair.truth));
  add("untried", "settings", count(pair.predicted));
  add("untried_current_wrong", "settings", count(pair.predicted - pair.currentGood));
  add("untried_driver_wrong", "settings", count(pair.predicted - pair.driverGood));
  add("untried_current_worst", "%", 100 * pair.worstCurrent);
  if (pair.peer.trials == 0) return;
  add("doubling_settings", "", pair.peer.trials);
  add("doubling_steps", "", pair.peerSteps);
  add("doubling_out_of_memory", "", pair.peer.outOfMemory);
  add("doubling_found", "samples", pair.peer.largest);
}

std::vector<Model> allModels() {
  std::vector<Model> models;
  for (const int width : {32, 64, 128}) {
    models.push_back({"classifier, width " + std::to_string(width),
                      "--layers 2 --heads 4 --width " + std::to_string(width),
                      64,
                      {16, 64}});
  }
  return models;
}

void run(const Choices& choices, bench::Report& report) {
  std::vector<std::uint64_t> limits;
  for (std::string rest = choices.limits; !rest.empty();) {
    const std::string one = rest.substr(0, rest.find(','));
    rest.erase(0, std::min(rest.size(), one.size() + 1));
    const auto bytes = parseBytes(one, "--limits");
    if (!bytes) throw std::runtime_error(bytes.error().message);
    limits.push_back(*bytes);
  }
  int failed = 0;
  for (const Model& model : allModels()) {
    if (!choices.only.empty() && model.name.find(choices.only) == std::string::npos) continue;
    for (const std::uint64_t limit : limits) {
      try {
        const Pair pair = compare(choices, model, limit);
        std::fprintf(stderr, "tuner: %s, %s: %u of %u\n", model.name.c_str(),
                     formatBytes(limit).c_str(), pair.found, pair.truth);
        addRows(pair, report);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "tuner: %s, %s: %s\n", model.name.c_str(), formatBytes(limit).c_str(),
                     error.what());
        ++failed;
      }
    }
  }
  report.rows.push_back(bench::exact("pairs_failed", "all", "", failed));
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  choices.worker = std::filesystem::path(argv[0]).parent_path() / "highwater-worker";
  bench::Harness harness(kBench);
  CLI::App& options = harness.options();
  options.add_option("--limits", choices.limits, "Recommended maxima, separated by commas");
  options.add_option("--most", choices.most, "Largest batch");
  options.add_option("--only", choices.only, "Only models whose name contains this");
  options.add_flag("!--no-peer", choices.peer, "Without the search by doubling");
  return harness.run(argc, argv, [&](bench::Report& report) { run(choices, report); });
}

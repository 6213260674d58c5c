// How many settings, steps and times out of memory it takes to find the largest safe batch, beside
// a search by doubling; and how well peaks are predicted at settings that were not tried. On the
// simulated device, each trial in a fresh worker. docs/performance.md has the figures.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "bench/batch_finder.h"
#include "bench/program.h"
#include "core/units.h"
#include "tuning/observations.h"
#include "tuning/sweep_planner.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"

using namespace highwater;
using namespace highwater::tuning;

namespace {

constexpr std::uint32_t kTunerSteps = 4, kFinderSteps = 3, kTruthSteps = 3;
/// A prediction counts as right within this share, or within one heap.
constexpr double kGoodShare = 0.03;
constexpr std::uint64_t kHeap = 32 * kMiB;

struct Choices {
  std::filesystem::path worker, models;
  std::string json, limits = "160MiB,256MiB,1GiB", only;
  std::uint32_t most = 512;
  bool peer = true;
};

struct Model {
  std::string name, options;
  std::uint32_t length = 1;  ///< of the sequences; 1: inputs without a length
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
  std::string command = "HIGHWATER_SIM_RECOMMENDED_MAX=" + std::to_string(recommended) + ' ' +
                        choices.worker.string() +
                        " --stdio --autostart --device sim --on-out-of-memory stop --steps " +
                        std::to_string(steps) + " --sampling-hz 200 --batch " +
                        std::to_string(batch) + " --level " + (ops ? "ops " : "monitor ") +
                        model.options;
  if (model.length > 1) command += " --seq " + std::to_string(model.length);
  FILE* output = ::popen((command + " 2>/dev/null </dev/null").c_str(), "r");
  if (!output) throw std::runtime_error("the worker cannot be started");
  analysis::LiveStore store;
  wire::FrameReader reader;
  std::array<std::uint8_t, 65536> bytes{};
  std::string failure;
  for (std::size_t count; (count = std::fread(bytes.data(), 1, bytes.size(), output)) > 0;) {
    reader.append({bytes.data(), count});
    while (true) {
      const auto frame = reader.next();
      if (!frame || !*frame) break;
      const auto message = wire::decode(**frame);
      if (!message) throw std::runtime_error(message.error().message);
      if (const auto* failed = std::get_if<Failure>(&*message)) failure = failed->message;
      store.apply(*message);
    }
  }
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
  // The batch's size in the records is what was asked for; a model without lengths says 0 or 1.
  trial.memory.setting = {batch, model.length};
  const auto traces = tracesOf(store);
  if (!traces.empty()) {
    trial.trace = traces.front();
    trial.trace->setting = trial.memory.setting;
  }
  for (std::size_t row = 1; row < store.steps().records.size(); ++row) {
    trial.tokensPerS.push_back(store.steps().tokensPerS.values()[row]);
  }
  return trial;
}

struct Row {
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

Row compare(const Choices& choices, const Model& model, std::uint64_t recommended) {
  Row row{.model = model.name, .recommended = recommended};
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
    ++row.settings;
    row.steps += kTunerSteps;
    row.outOfMemory += trial.outOfMemory ? 1 : 0;
    row.tried.push_back(step->setting.batch);
    planner.record({trial.memory, trial.tokensPerS, trial.outOfMemory, trial.trace});
  }
  // The largest that it has measured and found safe.
  const SweepResult result = planner.result();
  for (const SweepPoint& point : result.points) {
    if (point.safe) row.found = std::max(row.found, point.memory.setting.batch);
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
  if (row.found > 0 && isSafe(row.found)) low = row.found;
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
  row.truth = low;
  for (const std::uint32_t batch : {model.start.batch * 2, low / 2, low * 3 / 4}) {
    if (batch > 0 && batch <= choices.most) (void)isSafe(batch);
  }
  for (const auto& [batch, trial] : truth) {
    const bool tried = std::find(row.tried.begin(), row.tried.end(), batch) != row.tried.end();
    if (tried || trial.outOfMemory || !planner.model()) continue;
    ++row.predicted;
    const auto near = [](std::uint64_t a, std::uint64_t b, std::uint64_t heap) {
      const std::uint64_t off = a > b ? a - b : b - a;
      return off <= std::max<std::uint64_t>(heap, wholeBytes(kGoodShare * static_cast<double>(b)));
    };
    const Prediction current = planner.model()->current({batch, model.length});
    const Prediction driver = planner.model()->driver({batch, model.length});
    row.currentGood += near(current.bytes, trial.memory.peakCurrent, 0) ? 1 : 0;
    row.driverGood += near(driver.bytes, trial.memory.peakDriver, kHeap) ? 1 : 0;
    row.worstCurrent =
        std::max(row.worstCurrent, std::abs(static_cast<double>(current.bytes) /
                                                static_cast<double>(trial.memory.peakCurrent) -
                                            1));
  }

  if (choices.peer) {
    row.peer = bench::findByDoubling(choices.most, [&](std::uint32_t batch) {
      const bool fits = !train(choices, model, recommended, batch, kFinderSteps, false).outOfMemory;
      row.peerSteps += kFinderSteps;
      return fits;
    });
  }
  return row;
}

std::string triedText(const Row& row) {
  std::string text;
  for (const std::uint32_t each : row.tried) {
    text += (text.empty() ? "" : " ") + std::to_string(each);
  }
  return text;
}

void print(const Row& row) {
  std::printf("%-22s %9s  %2zu settings (%s), %2u steps, %d OOM; found %u of %u", row.model.c_str(),
              formatBytes(row.recommended).c_str(), row.settings, triedText(row).c_str(), row.steps,
              row.outOfMemory, row.found, row.truth);
  std::printf(
      "; untried: current %zu/%zu, driver %zu/%zu within 3 %% or a heap, worst current "
      "%.1f %%",
      row.currentGood, row.predicted, row.driverGood, row.predicted, 100 * row.worstCurrent);
  if (row.peer.trials > 0) {
    std::printf("; doubling: %d settings, %u steps, %d OOM, batch %u", row.peer.trials,
                row.peerSteps, row.peer.outOfMemory, row.peer.largest);
  }
  std::printf("\n");
  std::fflush(stdout);
}

void writeJson(const std::vector<Row>& rows, const std::string& path) {
  std::ofstream file(path);
  file << "{\"schema\": 1, \"bench\": \"tuner\", \"rows\": [";
  for (const Row& row : rows) {
    file << (&row == rows.data() ? "\n" : ",\n") << "  {\"model\": \"" << row.model
         << "\", \"recommended\": " << row.recommended << ", \"settings\": " << row.settings
         << ", \"steps\": " << row.steps << ", \"out_of_memory\": " << row.outOfMemory
         << ", \"found\": " << row.found << ", \"true_largest\": " << row.truth
         << ", \"predicted\": " << row.predicted << ", \"current_good\": " << row.currentGood
         << ", \"driver_good\": " << row.driverGood << ", \"worst_current\": " << row.worstCurrent
         << ", \"doubling\": {\"settings\": " << row.peer.trials << ", \"steps\": " << row.peerSteps
         << ", \"out_of_memory\": " << row.peer.outOfMemory << ", \"found\": " << row.peer.largest
         << "}}";
  }
  file << "\n]}\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::vector<Model> modelsOf(const Choices& choices) {
  std::vector<Model> models;
  for (const int width : {32, 64, 128}) {
    models.push_back({"classifier, width " + std::to_string(width),
                      "--layers 2 --heads 4 --width " + std::to_string(width),
                      64,
                      {16, 64}});
  }
  const auto addFile = [&](const char* file, std::uint32_t length, std::uint32_t batch) {
    const std::filesystem::path path = choices.models / (std::string(file) + ".pt");
    if (choices.models.empty() || !std::filesystem::exists(path)) {
      std::printf("no model %s: --models names the folder\n", file);
      return;
    }
    models.push_back({file, "--workload " + path.string(), length, {batch, length}});
  };
  addFile("cnn", 1, 8);
  addFile("lstm", 32, 16);
  addFile("large_vocabulary", 64, 16);
  return models;
}

int run(const Choices& choices) {
  std::vector<std::uint64_t> limits;
  for (std::string rest = choices.limits; !rest.empty();) {
    const std::string one = rest.substr(0, rest.find(','));
    rest.erase(0, std::min(rest.size(), one.size() + 1));
    const auto bytes = parseBytes(one, "--limits");
    if (!bytes) throw std::runtime_error(bytes.error().message);
    limits.push_back(*bytes);
  }
  std::vector<Row> rows;
  int failed = 0;
  for (const Model& model : modelsOf(choices)) {
    if (!choices.only.empty() && model.name.find(choices.only) == std::string::npos) continue;
    for (const std::uint64_t limit : limits) {
      try {
        rows.push_back(compare(choices, model, limit));
        print(rows.back());
      } catch (const std::exception& error) {
        std::printf("%s, %s: %s\n", model.name.c_str(), formatBytes(limit).c_str(), error.what());
        ++failed;
      }
    }
  }
  if (!choices.json.empty()) writeJson(rows, choices.json);
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The largest safe batch: planned by the memory model, and by doubling"};
  Choices choices;
  choices.worker = std::filesystem::path(argv[0]).parent_path() / "highwater-worker";
  app.add_option("--models", choices.models, "Folder with the TorchScript models");
  app.add_option("--limits", choices.limits, "Recommended maxima, separated by commas");
  app.add_option("--most", choices.most, "Largest batch");
  app.add_option("--only", choices.only, "Only models whose name contains this");
  app.add_flag("!--no-peer", choices.peer, "Without the search by doubling");
  app.add_option("--json", choices.json, "Where to write the results");
  return bench::runProgram(app, argc, argv, [&] { return run(choices); });
}

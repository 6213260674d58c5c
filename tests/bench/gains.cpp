// What fixing a finding gains, predicted and measured: each scenario with its problem (A) and
// without it (B: the clean scenario with otherwise the same settings), in blocks A B B A. A block
// is a training of its own process on the simulated device, recorded by `highwater record`. The
// prediction is Findings::gainOfAllMs of the recording with the problem, 0 if no finding is about
// time, less that of the recordings without it: a fast device is host-bound in both. Measured is
// the time from the begin of a step to the begin of the next, the mean of the steps after the
// first; evaluations come after the last step.
//
// With --frames the trainings were made elsewhere, on a device that this machine does not have: a
// folder of files as `highwater-worker --stdio --autostart > FILE` writes them, each named
// SETTING-QUAD-BLOCK.bin with the blocks a1, b1, b2, a2 ("chatty-base-32-1-a1.bin").

#include <CLI/CLI.hpp>
#include <QCoreApplication>
#include <QDir>
#include <QProcess>
#include <QTemporaryDir>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "analysis/findings/findings.h"
#include "analysis/live_store.h"
#include "bench/harness.h"
#include "core/exit_codes.h"
#include "core/scenarios.h"
#include "run/recording_loader.h"
#include "support/recorded_frames.h"

namespace {

using namespace highwater;

struct Choices {
  std::vector<std::string> scenarios;
  int steps = 40;
  std::string launchDelay;
  std::string frames;
  std::string programs = HIGHWATER_BIN_DIR;
};

/// The prediction may be off by a fifth of what was measured, or by 1 ms.
double toleranceMs(double measuredGain) {
  return std::max(0.2 * std::abs(measuredGain), 1.0);
}

const bench::Bench kBench{
    "gains",
    "What fixing a scenario's problem gains, predicted and measured",
    "the clean scenario with the same settings",
    {{"predicted_over_twice_measured", 1.0}},  // prediction_off_by: toleranceMs()
    6};

/// One training.
struct Block {
  double stepMs = 0;
  double waitsMs = 0;  ///< of all findings about time
  analysis::Gain gain;
};
struct Quad {
  Block a1, b1, b2, a2;
};

/// What a run measured and what its findings predict.
Block blockOf(const analysis::LiveStore& store) {
  const auto& records = store.steps().records;
  if (records.size() < 3) throw std::runtime_error("the run has too few steps");
  Block block;
  block.stepMs = static_cast<double>(records.back().begin_ns() - records[1].begin_ns()) / 1e6 /
                 static_cast<double>(records.size() - 2);
  const analysis::Findings findings = analysis::findProblems(store);
  for (const analysis::Finding& each : findings.found) block.waitsMs += each.waitsMs.value_or(0);
  block.gain = findings.gainOfAllMs.value_or(analysis::Gain{});
  return block;
}

/// "The clean workload with otherwise the same settings" of shape-churn, whose lengths are drawn
/// from 8 to 64, has their mean.
constexpr std::uint32_t kMeanChurnLength = 36;

Block train(const Choices& choices, const Scenario& with, bool clean, const QTemporaryDir& folder) {
  const bool churns = std::string(with.name) == "shape-churn";
  const QString file = folder.filePath(QStringLiteral("run.highwater"));
  QStringList arguments{
      "record",     "--force",
      "--device",   "sim",
      "--scenario", clean ? "clean" : with.name,
      "--batch",    QString::number(with.batchSize),
      "--seq",      QString::number(clean && churns ? kMeanChurnLength : with.sequenceLength),
      "--steps",    QString::number(choices.steps),
      "-o",         file};
  if (!choices.launchDelay.empty()) {
    arguments << "--sim-launch-delay" << QString::fromStdString(choices.launchDelay);
  }
  QProcess process;
  process.setStandardInputFile(QProcess::nullDevice());
  process.start(QString::fromStdString(choices.programs + "/highwater"), arguments);
  constexpr int kLongestMs = 300'000;
  if (!process.waitForFinished(kLongestMs) || process.exitCode() != kExitDone) {
    throw std::runtime_error("highwater record failed: " +
                             process.readAllStandardError().toStdString());
  }
  analysis::LiveStore store;
  const auto loaded = run::loadRecording(file.toStdString(), store);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return blockOf(store);
}

/// A training whose frames were written to a file.
Block readFrames(const QString& path) {
  const test::OpenFile file(std::fopen(path.toUtf8().constData(), "rb"));
  if (!file) throw std::runtime_error(path.toStdString() + " cannot be read");
  analysis::LiveStore store;
  bool ended = false;
  test::forEachFrame(file.get(), [&](const Message& message) {
    ended = ended || std::holds_alternative<Goodbye>(message);
    store.apply(message);
  });
  if (!ended) throw std::runtime_error(path.toStdString() + " has no end: the run was cut short");
  return blockOf(store);
}

/// The blocks of a folder, by setting.
std::map<std::string, std::vector<Quad>> readFolder(const std::string& path) {
  const QDir folder(QString::fromStdString(path));
  std::map<std::string, std::vector<Quad>> settings;
  const QString first = QStringLiteral("-a1.bin");
  for (const QString& name : folder.entryList({'*' + first}, QDir::Files, QDir::Name)) {
    const QString quad = name.chopped(first.size());
    const auto block = [&](const char* which) {
      return readFrames(folder.filePath(quad + '-' + which + ".bin"));
    };
    settings[quad.section('-', 0, -2).toStdString()].push_back(
        {block("a1"), block("b1"), block("b2"), block("a2")});
  }
  if (settings.empty()) throw std::runtime_error(path + " has no files SETTING-QUAD-a1.bin");
  return settings;
}

/// The size of an estimate that may be negative.
bench::Estimate magnitude(const bench::Estimate& of) {
  bench::Estimate size = of;
  size.median = std::abs(of.median);
  size.low = of.low <= 0 && of.high >= 0 ? 0 : std::min(std::abs(of.low), std::abs(of.high));
  size.high = std::max(std::abs(of.low), std::abs(of.high));
  return size;
}

template <typename F>
bench::Estimate over(const std::vector<Quad>& quads, F&& value) {
  std::vector<double> values;
  for (const Quad& quad : quads) values.push_back(value(quad));
  return bench::estimate(std::move(values));
}

std::vector<bench::Row> rowsOf(const std::string& scenario, const std::vector<Quad>& quads) {
  const auto mean = [](double a, double b) { return (a + b) / 2; };
  const auto with = [mean](const Quad& quad) { return mean(quad.a1.stepMs, quad.a2.stepMs); };
  const auto without = [mean](const Quad& quad) { return mean(quad.b1.stepMs, quad.b2.stepMs); };
  const auto measured = [=](const Quad& quad) { return with(quad) - without(quad); };
  const auto predictedOf = [mean](double analysis::Gain::*bound) {
    return [mean, bound](const Quad& quad) {
      return mean(quad.a1.gain.*bound, quad.a2.gain.*bound) -
             mean(quad.b1.gain.*bound, quad.b2.gain.*bound);
    };
  };
  const auto predicted = predictedOf(&analysis::Gain::estimate);
  const auto beyondTwice = [=](const Quad& quad) {
    return predicted(quad) - 2 * std::max(measured(quad), 0.0);
  };
  const bench::Estimate gain = over(quads, measured);
  const auto row = [&](const char* name, const bench::Estimate& value,
                       std::optional<double> goal = {}) {
    return bench::Row{name, scenario, "ms", value, goal};
  };
  return {
      row("step_with_problem", over(quads, with)),
      row("step_without", over(quads, without)),
      row("control_without_less_without",
          over(quads, [](const Quad& quad) { return quad.b1.stepMs - quad.b2.stepMs; })),
      row("waits",
          over(quads, [mean](const Quad& quad) { return mean(quad.a1.waitsMs, quad.a2.waitsMs); })),
      row("measured_gain", gain),
      row("predicted_gain", over(quads, predicted)),
      row("predicted_low", over(quads, predictedOf(&analysis::Gain::low))),
      row("predicted_high", over(quads, predictedOf(&analysis::Gain::high))),
      row("prediction_off_by",
          magnitude(
              over(quads, [=](const Quad& quad) { return predicted(quad) - measured(quad); })),
          toleranceMs(gain.median)),
      row("predicted_over_twice_measured", over(quads, beyondTwice)),
  };
}

std::vector<Quad> measure(const Choices& choices, int count, const Scenario& scenario) {
  const QTemporaryDir folder;
  if (!folder.isValid()) throw std::runtime_error("there is no folder for recordings");
  std::vector<Quad> quads;
  for (int i = 0; i < count; ++i) {
    Quad quad;
    quad.a1 = train(choices, scenario, false, folder);
    quad.b1 = train(choices, scenario, true, folder);
    quad.b2 = train(choices, scenario, true, folder);
    quad.a2 = train(choices, scenario, false, folder);
    quads.push_back(quad);
  }
  return quads;
}

void run(const Choices& choices, int count, bench::Report& report) {
  const auto add = [&report](const std::string& setting, const std::vector<Quad>& quads) {
    const std::vector<bench::Row> rows = rowsOf(setting, quads);
    report.rows.insert(report.rows.end(), rows.begin(), rows.end());
  };
  if (!choices.frames.empty()) {
    report.peer += ", on the device that made the frames";
    for (const auto& [setting, quads] : readFolder(choices.frames)) add(setting, quads);
    return;
  }
  report.peer += "; " + std::to_string(2 * count) + " trainings of " +
                 std::to_string(choices.steps) + " steps a side" +
                 (choices.launchDelay.empty() ? "" : ", launch delay " + choices.launchDelay);
  for (const Scenario& each : scenarios()) {
    const bool wanted = choices.scenarios.empty() ||
                        std::find(choices.scenarios.begin(), choices.scenarios.end(), each.name) !=
                            choices.scenarios.end();
    if (wanted) add(each.name, measure(choices, count, each));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  Choices choices;
  bench::Harness harness(kBench);
  CLI::App& options = harness.options();
  options.add_option("--scenario", choices.scenarios, "Only these; may be repeated");
  options.add_option("--steps", choices.steps, "Steps of a training")
      ->check(CLI::Range(10, 10'000));
  options.add_option("--launch-delay", choices.launchDelay,
                     "Delay before each kernel of the device: a device that takes no CPU time");
  options.add_option("--frames", choices.frames, "Folder of trainings that were made elsewhere");
  options.add_option("--programs", choices.programs, "Folder of highwater and its worker");
  return harness.run(argc, argv,
                     [&](bench::Report& report) { run(choices, harness.rounds(), report); });
}

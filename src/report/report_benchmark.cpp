#include "report/report_benchmark.h"

#include <QJsonArray>
#include <algorithm>
#include <cmath>

#include "core/plain_text.h"
#include "core/units.h"
#include "report/report_values.h"
#include "report/text_table.h"

namespace highwater::report {
namespace {

using Align = TextTable::Align;

using tuning::Benchmark;
using tuning::BenchmarkSide;
using tuning::BenchmarkTiming;
using tuning::Drift;
using tuning::DriftJudgement;
using tuning::DriftVerdict;
using tuning::ErrorSize;
using tuning::Interval;
using tuning::ModuleDrift;
using tuning::Spread;

constexpr std::size_t kMostModules = 12;
/// A share of work that the naive clock misses which is worth telling.
constexpr double kMissedEnough = 0.05;

/// A ratio with two or three digits: "0.97", "3.2", "240".
std::string ratioText(double ratio) {
  const int decimals = ratio >= 100 ? 0 : ratio >= 2 ? 1 : 2;
  return formatDecimals(ratio, decimals);
}

std::string rangeText(double low, double high, double coverage) {
  return ratioText(low) + " to " + ratioText(high) + ", " + formatDecimals(coverage * 100, 0) +
         " % confidence";
}

std::string sizesText(const Benchmark& benchmark) {
  std::string text = plainText(benchmark.workload);
  if (!benchmark.scenario.empty()) text += ", scenario " + plainText(benchmark.scenario);
  if (!benchmark.preset.empty() && benchmark.width > 0) {
    text += ", preset " + plainText(benchmark.preset);
  }
  return text + ", batch " + std::to_string(benchmark.batch) + ", length " +
         std::to_string(benchmark.length);
}

std::string sentenceOfDevice(const Benchmark& benchmark) {
  return benchmark.simulated
             ? "The device is simulated: it computes with this machine's CPU. These times say "
               "nothing about a Mac."
             : std::string();
}

double naiveRatio(const BenchmarkTiming& timing) {
  const double mps = tuning::naiveMs(timing.mps, timing.calls).median;
  return mps > 0 ? tuning::naiveMs(timing.cpu, timing.calls).median / mps : 0;
}

/// What rounding explains of the root mean square error.
double roundingOf(const ModuleDrift& module, std::string_view type) {
  const double least = tuning::unitRoundoff(type) * module.mps.rmsExpected;
  return std::max(least, module.rounding ? module.rounding->rmsError : 0);
}

double timesRounding(const ModuleDrift& module, std::string_view type) {
  const double rounding = roundingOf(module, type);
  if (module.mps.rmsError == 0) return 0;
  return rounding > 0 ? module.mps.rmsError / rounding : HUGE_VAL;
}

std::string timesText(const ModuleRow& row) {
  if (std::isinf(row.timesRounding)) return "-";
  return row.timesRounding == 0 ? "0" : ratioText(row.timesRounding);
}

std::string moduleName(const std::string& module) {
  return module.empty() ? "(model)" : plainText(module);
}

std::string speedTable(const Benchmark& benchmark, std::size_t width) {
  if (benchmark.timings.empty()) return {};
  const std::string device = benchmark.deviceName();
  std::string text =
      '\n' + hangingText("",
                         "Time of a call, or of a training step: warmed up, waiting for the "
                         "device, in rounds of CPU, " +
                             device + ", " + device + ", CPU.",
                         0, width);
  for (const BenchmarkTiming& timing : benchmark.timings) {
    TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
    table.add({"", "median", "quartiles", "first call"});
    const auto add = [&](const std::string& name, const BenchmarkSide& side) {
      const Spread honest = tuning::honestMs(side, timing.calls);
      table.add({name, shortTime(honest.median),
                 shortTime(honest.lower) + " to " + shortTime(honest.upper),
                 shortTime(side.firstMs)});
    };
    add("CPU", timing.cpu);
    add(benchmark.deviceName(), timing.mps);
    const bool isStep = timing.what == BenchmarkTiming::What::kStep;
    const std::string types =
        timing.cpuType == timing.mpsType
            ? timing.cpuType
            : timing.cpuType + " on the CPU, " + timing.mpsType + " on " + benchmark.deviceName();
    const std::string title = isStep ? "training step, " + types : plainText(timing.name);
    text += '\n' + title + ", " + std::to_string(timing.calls) + (isStep ? " steps" : " calls") +
            " a measurement, " + std::to_string(timing.cpu.doneMs.size()) + " of each\n";
    text += table.text(2, width);
    text += hangingText("  ", speedSentence(benchmark, timing), 2, width);
    const std::string naive = naiveSentence(timing);
    if (!naive.empty()) text += hangingText("  ", naive, 2, width);
  }
  return text;
}

std::string driftTable(const Benchmark& benchmark, std::size_t width) {
  std::vector<ModuleRow> rows = moduleRows(*benchmark.drift);
  const auto worst = [](const ModuleRow& row) {
    return std::max(row.output ? row.output->maxRel : 0, row.gradient ? row.gradient->maxRel : 0);
  };
  const bool differs =
      std::any_of(rows.begin(), rows.end(), [&](const ModuleRow& row) { return worst(row) > 0; });
  if (!differs) return {};
  std::size_t left = 0;
  if (rows.size() > kMostModules) {
    std::vector<double> worsts;
    for (const ModuleRow& row : rows) worsts.push_back(worst(row));
    std::nth_element(worsts.begin(), worsts.begin() + kMostModules - 1, worsts.end(),
                     std::greater<>());
    const double least = worsts[kMostModules - 1];
    left = rows.size();
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const ModuleRow& row) { return worst(row) < least; }),
               rows.end());
    left -= rows.size();
  }
  TextTable table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.limit(0, 26);
  table.add({"largest error of", "output", "relative", "gradient", "relative", "x rounding"});
  for (const ModuleRow& row : rows) {
    const auto abs = [](const ErrorSize* size) { return size ? shortError(size->maxAbs) : ""; };
    const auto rel = [](const ErrorSize* size) { return size ? shortError(size->maxRel) : ""; };
    table.add({moduleName(row.module), abs(row.output), rel(row.output), abs(row.gradient),
               rel(row.gradient), timesText(row)});
  }
  std::string text = '\n' + table.text(2, width);
  if (left > 0) {
    text += hangingText(
        "  ", "and " + std::to_string(left) + " modules with smaller errors: --json", 2, width);
  }
  return text;
}

std::string driftText(const Benchmark& benchmark, std::size_t width) {
  const Drift& drift = *benchmark.drift;
  std::string text = '\n' + hangingText("",
                                        "Numeric drift: the same weights and " +
                                            std::to_string(drift.losses.size()) +
                                            " batches on both devices, without dropout",
                                        0, width);
  TextTable losses({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  losses.add({"loss of batch", "CPU, " + drift.cpuPrecision,
              benchmark.deviceName() + ", " + drift.mpsPrecision, "CPU, float64"});
  for (std::size_t i = 0; i < drift.losses.size(); ++i) {
    const tuning::LossOfBatch& loss = drift.losses[i];
    losses.add({std::to_string(i + 1), formatDecimals(loss.cpu, 9), formatDecimals(loss.mps, 9),
                loss.float64 ? formatDecimals(*loss.float64, 9) : std::string("-")});
  }
  text += losses.text(2, width);
  text += hangingText("  ", driftSentence(benchmark), 2, width);
  return text + driftTable(benchmark, width);
}

QJsonObject jsonOf(const Spread& spread) {
  return {{"p50", real(spread.median)}, {"p25", real(spread.lower)},
          {"p75", real(spread.upper)},  {"min", real(spread.least)},
          {"max", real(spread.most)},   {"measurements", static_cast<qint64>(spread.count)}};
}

QJsonObject jsonOf(const BenchmarkSide& side, std::uint32_t calls) {
  QJsonArray done, submitted;
  for (const double each : side.doneMs) done.append(real(each));
  for (const double each : side.submittedMs) submitted.append(real(each));
  return {{"ms", jsonOf(tuning::honestMs(side, calls))},
          {"ms_not_waiting", jsonOf(tuning::naiveMs(side, calls))},
          {"missed_share", real(tuning::missedShare(side))},
          {"first_ms", real(side.firstMs)},
          {"warm_up_calls", static_cast<qint64>(side.warmUpCalls)},
          {"done_ms", done},
          {"submitted_ms", submitted}};
}

const char* keyOf(tuning::Faster faster) {
  switch (faster) {
    case tuning::Faster::kCpu:
      return "cpu";
    case tuning::Faster::kMps:
      return "mps";
    case tuning::Faster::kUnclear:
      break;
  }
  return "unclear";
}

QJsonObject jsonOf(const Benchmark& benchmark, const BenchmarkTiming& timing) {
  const Interval ratio = tuning::cpuOverMps(timing);
  const bool isStep = timing.what == BenchmarkTiming::What::kStep;
  QJsonObject json{{"name", text(timing.name)},
                   {"what", isStep ? "step" : "matmul"},
                   {"simulated", benchmark.simulated},
                   {"calls", static_cast<qint64>(timing.calls)},
                   {"cpu_type", text(timing.cpuType)},
                   {"mps_type", text(timing.mpsType)},
                   {"cpu", jsonOf(timing.cpu, timing.calls)},
                   {"mps", jsonOf(timing.mps, timing.calls)},
                   {"cpu_over_mps", QJsonObject{{"p50", real(ratio.median)},
                                                {"low", real(ratio.low)},
                                                {"high", real(ratio.high)},
                                                {"coverage", real(ratio.coverage)}}},
                   {"cpu_over_mps_not_waiting", real(naiveRatio(timing))},
                   {"faster", keyOf(tuning::fasterOf(ratio))}};
  json["shape"] =
      isStep ? QJsonValue()
             : QJsonArray{static_cast<qint64>(timing.shape.m), static_cast<qint64>(timing.shape.k),
                          static_cast<qint64>(timing.shape.n)};
  return json;
}

QJsonObject jsonOf(const ErrorSize& size) {
  return {{"elements", static_cast<qint64>(size.elements)},
          {"max_abs", real(size.maxAbs)},
          {"max_rel", real(size.maxRel)},
          {"rms_error", real(size.rmsError)},
          {"rms_expected", real(size.rmsExpected)},
          {"non_finite", static_cast<qint64>(size.nonFinite)}};
}

QJsonArray jsonOf(const std::vector<ModuleDrift>& modules, const std::string& type) {
  QJsonArray all;
  for (const ModuleDrift& each : modules) {
    all.append(QJsonObject{{"module", text(each.module)},
                           {"mps", jsonOf(each.mps)},
                           {"rounding", each.rounding ? jsonOf(*each.rounding) : QJsonValue()},
                           {"beyond_rounding", tuning::isBeyondRounding(each, type)}});
  }
  return all;
}

QJsonObject jsonOf(const Drift& drift) {
  const DriftJudgement judged = tuning::judgeDrift(drift);
  QJsonArray losses;
  for (const tuning::LossOfBatch& each : drift.losses) {
    losses.append(QJsonObject{
        {"cpu", real(each.cpu)}, {"mps", real(each.mps)}, {"float64", orNull(each.float64)}});
  }
  return {{"cpu_precision", text(drift.cpuPrecision)},
          {"mps_precision", text(drift.mpsPrecision)},
          {"no_float64", textOrNull(drift.noFloat64)},
          {"loss", losses},
          {"verdict", text(tuning::driftVerdictKey(judged.verdict))},
          {"loss_difference", real(judged.difference)},
          {"loss_difference_rel", real(judged.relative)},
          {"loss_rounding", real(judged.rounding)},
          {"loss_threshold", real(judged.threshold)},
          {"loss_batch_spread", real(judged.batchSpread)},
          {"first_module_beyond_rounding",
           judged.firstBeyond ? text(*judged.firstBeyond) : QJsonValue()},
          {"outputs", jsonOf(drift.outputs, drift.cpuPrecision)},
          {"gradients", jsonOf(drift.gradients, drift.cpuPrecision)}};
}

}  // namespace

std::string shortTime(double ms) {
  if (ms >= 0.1 || ms <= 0) return formatMs(ms);
  const double us = ms * 1000;
  return formatDecimals(us, us < 10 ? 1 : 0) + " µs";
}

std::string shortError(double error) {
  return error == 0 ? "0" : QString::number(error, 'e', 1).toStdString();
}

std::string benchmarkHeading(const Benchmark& benchmark) {
  std::string text =
      "CPU against " + benchmark.deviceName() + ": PyTorch " + plainText(benchmark.torch) + ", " +
      plainText(benchmark.platform) + ", " + std::to_string(benchmark.cpuThreads) +
      (benchmark.cpuThreads == 1 ? " CPU thread, " : " CPU threads, ") + sizesText(benchmark) + '.';
  if (benchmark.simulated) text += ' ' + sentenceOfDevice(benchmark);
  return text;
}

std::string speedSentence(const Benchmark& benchmark, const BenchmarkTiming& timing) {
  const Interval ratio = tuning::cpuOverMps(timing);
  if (ratio.median <= 0) return "No complete round: no ratio.";
  const std::string range = rangeText(ratio.low, ratio.high, ratio.coverage);
  const tuning::Faster faster = tuning::fasterOf(ratio);
  if (faster == tuning::Faster::kUnclear) {
    const std::string which = ratio.coverage < tuning::kLeastCoverage
                                  ? "Too few rounds to tell which is faster"
                                  : "The measurements show no difference";
    return which + ": the CPU takes " + ratioText(ratio.low) + " to " + ratioText(ratio.high) +
           " times as long as " + benchmark.deviceName() + " (" +
           formatDecimals(ratio.coverage * 100, 0) + " % confidence).";
  }
  if (benchmark.simulated) {
    return "The CPU takes " + ratioText(ratio.median) + " times as long as simulated MPS (" +
           range + "), which says nothing about a Mac.";
  }
  if (faster == tuning::Faster::kMps) {
    return "MPS is " + ratioText(ratio.median) + " times as fast as the CPU (" + range + ").";
  }
  return "The CPU is " + ratioText(1 / ratio.median) + " times as fast as MPS (" +
         rangeText(1 / ratio.high, 1 / ratio.low, ratio.coverage) + ").";
}

std::string naiveSentence(const BenchmarkTiming& timing) {
  if (tuning::missedShare(timing.mps) < kMissedEnough) return {};
  return "Timing without torch.mps.synchronize() would show " +
         shortTime(tuning::naiveMs(timing.mps, timing.calls).median) + ": only the queueing.";
}

std::string driftSentence(const Benchmark& benchmark) {
  const Drift& drift = *benchmark.drift;
  const DriftJudgement judged = tuning::judgeDrift(drift);
  const std::string difference = "The loss differs by at most " + shortError(judged.difference) +
                                 " (" + shortError(judged.relative) + " of it)";
  const std::string derived =
      " The threshold " + shortError(judged.threshold) + " is " +
      formatDecimals(tuning::kRoundingFactor, 0) +
      " times what rounding alone moves the loss by: the CPU's own error in " + drift.cpuPrecision +
      " against float64, and at least the loss times the unit roundoff " +
      shortError(tuning::unitRoundoff(drift.cpuPrecision)) + " of " + drift.cpuPrecision + '.';
  const std::string place = judged.firstBeyond
                                ? " The first module that is off by more than rounding: " +
                                      moduleName(*judged.firstBeyond) + '.'
                                : std::string();
  switch (judged.verdict) {
    case DriftVerdict::kEqual:
      return "Equal to the last bit: losses, outputs of all modules and gradients.";
    case DriftVerdict::kRounding:
      return difference + ", no more than rounding explains: it does not matter." + derived + place;
    case DriftVerdict::kBeyond:
      return difference + ", more than rounding explains, but little beside its spread of " +
             shortError(judged.batchSpread) + " from batch to batch: training hardly notices." +
             derived + place;
    case DriftVerdict::kMatters:
      if (judged.threshold == 0 || judged.difference == 0) {
        return "The loss is finite on the CPU and not on " + benchmark.deviceName() +
               ": it matters." + place;
      }
      return difference + ", more than rounding explains, and not small beside its spread of " +
             shortError(judged.batchSpread) + " from batch to batch: it matters." + derived + place;
    case DriftVerdict::kUnknown:
      break;
  }
  if (!drift.noFloat64.empty()) {
    return difference +
           ". Whether rounding explains that is unknown, because the model does not "
           "run in float64: " +
           plainText(drift.noFloat64) + place;
  }
  return "The loss is not finite on the CPU: there is nothing to compare with.";
}

std::vector<ModuleRow> moduleRows(const Drift& drift) {
  std::vector<ModuleRow> rows;
  const auto rowOf = [&](const std::string& module) -> ModuleRow& {
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const ModuleRow& row) { return row.module == module; });
    return found != rows.end() ? *found : rows.emplace_back(ModuleRow{module});
  };
  for (const ModuleDrift& each : drift.outputs) {
    ModuleRow& row = rowOf(each.module);
    row.output = &each.mps;
    row.timesRounding = timesRounding(each, drift.cpuPrecision);
  }
  for (const ModuleDrift& each : drift.gradients) {
    ModuleRow& row = rowOf(each.module);
    row.gradient = &each.mps;
    if (!row.output) row.timesRounding = timesRounding(each, drift.cpuPrecision);
  }
  return rows;
}

std::string benchmarkText(const Benchmark& benchmark, std::size_t width) {
  std::string text = hangingText("", benchmarkHeading(benchmark), 0, width);
  text += speedTable(benchmark, width);
  if (benchmark.drift) text += driftText(benchmark, width);
  for (const tuning::RefusedCase& each : benchmark.refused) {
    text +=
        '\n' + hangingText("", "Not measured: " + plainText(each.name) + ": " + plainText(each.why),
                           2, width);
  }
  return text;
}

QJsonObject benchmarkJson(const Benchmark& benchmark, const std::string& stopped) {
  QJsonArray timings, refused;
  for (const BenchmarkTiming& each : benchmark.timings) timings.append(jsonOf(benchmark, each));
  for (const tuning::RefusedCase& each : benchmark.refused) {
    refused.append(QJsonObject{{"name", text(each.name)}, {"why", text(each.why)}});
  }
  return {{"schema", 1},
          {"simulated", benchmark.simulated},
          {"complete", benchmark.complete},
          {"stopped", textOrNull(stopped)},
          {"versions",
           QJsonObject{{"highwater", text(benchmark.highwater)}, {"torch", text(benchmark.torch)}}},
          {"machine", QJsonObject{{"platform", text(benchmark.platform)},
                                  {"device", text(benchmark.device)},
                                  {"device_reason", text(benchmark.deviceReason)},
                                  {"cpu_threads", static_cast<qint64>(benchmark.cpuThreads)},
                                  {"blas", text(benchmark.blas)}}},
          {"workload", QJsonObject{{"name", text(benchmark.workload)},
                                   {"scenario", textOrNull(benchmark.scenario)},
                                   {"preset", textOrNull(benchmark.preset)},
                                   {"width", static_cast<qint64>(benchmark.width)},
                                   {"layers", static_cast<qint64>(benchmark.layers)},
                                   {"heads", static_cast<qint64>(benchmark.heads)},
                                   {"batch", static_cast<qint64>(benchmark.batch)},
                                   {"seq", static_cast<qint64>(benchmark.length)},
                                   {"accumulation", static_cast<qint64>(benchmark.accumulation)},
                                   {"cpu_precision", text(benchmark.cpuPrecision)},
                                   {"mps_precision", text(benchmark.mpsPrecision)}}},
          {"timings", timings},
          {"drift", benchmark.drift ? jsonOf(*benchmark.drift) : QJsonValue()},
          {"refused", refused}};
}

}  // namespace highwater::report

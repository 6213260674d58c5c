#include "run/benchmark_run.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <limits>

#include "core/exit_codes.h"
#include "session/option_names.h"
#include "session/worker_choice.h"
#include "session/worker_launch.h"
#include "session/worker_process.h"

namespace highwater::run {
namespace {

using tuning::Benchmark;
using tuning::BenchmarkSide;
using tuning::BenchmarkTiming;

constexpr qsizetype kLongestLine = 16 << 20;
constexpr int kKillWaitMs = 5000;

std::string textOf(const QJsonValue& value) {
  return value.toString().toStdString();
}

std::uint32_t countOf(const QJsonValue& value) {
  return static_cast<std::uint32_t>(value.toInteger());
}

/// JSON has null for a number that is not finite.
double numberOf(const QJsonValue& value) {
  return value.toDouble(std::numeric_limits<double>::quiet_NaN());
}

BenchmarkSide sideOf(const QJsonObject& json) {
  BenchmarkSide side;
  side.firstMs = json["first_ms"].toDouble();
  side.warmUpCalls = countOf(json["warm_up_calls"]);
  for (const QJsonValue& each : json["measurements"].toArray()) {
    side.submittedMs.push_back(each["submitted_ms"].toDouble());
    side.doneMs.push_back(each["done_ms"].toDouble());
  }
  return side;
}

BenchmarkTiming timingOf(const QJsonObject& json) {
  BenchmarkTiming timing;
  const bool isStep = json["what"] == QLatin1String("step");
  timing.what = isStep ? BenchmarkTiming::What::kStep : BenchmarkTiming::What::kMatmul;
  timing.name = textOf(json["name"]);
  timing.shape = {countOf(json["m"]), countOf(json["k"]), countOf(json["n"])};
  timing.cpuType = textOf(json[isStep ? QLatin1String("cpu_precision") : QLatin1String("dtype")]);
  timing.mpsType = textOf(json[isStep ? QLatin1String("mps_precision") : QLatin1String("dtype")]);
  timing.calls = countOf(json["calls"]);
  timing.cpu = sideOf(json["cpu"].toObject());
  timing.mps = sideOf(json["mps"].toObject());
  return timing;
}

tuning::ErrorSize errorOf(const QJsonValue& json) {
  return {json["elements"].toInteger(),   numberOf(json["max_abs"]),
          numberOf(json["max_rel"]),      numberOf(json["rms_error"]),
          numberOf(json["rms_expected"]), json["non_finite"].toInteger()};
}

std::vector<tuning::ModuleDrift> modulesOf(const QJsonArray& array) {
  std::vector<tuning::ModuleDrift> modules;
  for (const QJsonValue& each : array) {
    tuning::ModuleDrift module{textOf(each["module"]), errorOf(each["mps"]), std::nullopt};
    if (each["rounding"].isObject()) module.rounding = errorOf(each["rounding"]);
    modules.push_back(std::move(module));
  }
  return modules;
}

tuning::Drift driftOf(const QJsonObject& json) {
  tuning::Drift drift;
  drift.cpuPrecision = textOf(json["cpu_precision"]);
  drift.mpsPrecision = textOf(json["mps_precision"]);
  drift.noFloat64 = textOf(json["no_float64"]);
  for (const QJsonValue& each : json["loss"].toArray()) {
    tuning::LossOfBatch loss{numberOf(each["cpu"]), numberOf(each["mps"]), std::nullopt};
    if (drift.noFloat64.empty()) loss.float64 = numberOf(each["float64"]);
    drift.losses.push_back(loss);
  }
  drift.outputs = modulesOf(json["outputs"].toArray());
  drift.gradients = modulesOf(json["gradients"].toArray());
  return drift;
}

void readStart(const QJsonObject& json, Benchmark& benchmark) {
  benchmark.highwater = textOf(json["highwater"]);
  benchmark.torch = textOf(json["torch"]);
  benchmark.platform = textOf(json["platform"]);
  benchmark.device = textOf(json["device"]);
  benchmark.deviceReason = textOf(json["device_reason"]);
  benchmark.blas = textOf(json["blas"]);
  benchmark.simulated = json["simulated"].toBool();
  benchmark.cpuThreads = countOf(json["cpu_threads"]);
  const QJsonObject workload = json["workload"].toObject();
  benchmark.workload = textOf(workload["name"]);
  benchmark.scenario = textOf(workload["scenario"]);
  benchmark.preset = textOf(workload["preset"]);
  benchmark.width = countOf(workload["width"]);
  benchmark.layers = countOf(workload["layers"]);
  benchmark.heads = countOf(workload["heads"]);
  benchmark.batch = countOf(workload["batch"]);
  benchmark.length = countOf(workload["seq"]);
  benchmark.accumulation = countOf(workload["accumulation"]);
  benchmark.cpuPrecision = textOf(workload["cpu_precision"]);
  benchmark.mpsPrecision = textOf(workload["mps_precision"]);
}

}  // namespace

QStringList benchmarkArguments(const BenchmarkRunOptions& options) {
  QStringList arguments = session::workerArguments(options.launch);
  for (const MatmulShape& shape : options.shapes) {
    arguments << QStringLiteral("--matmul") << QString::fromStdString(matmulText(shape));
  }
  BenchmarkWords words = benchmarkWords(options);
  session::addArguments(arguments, benchmarkRows(kWorkerBenchmarkNames), words);
  return arguments;
}

Result<std::optional<BenchmarkProgress>> addBenchmarkLine(const QByteArray& line,
                                                          Benchmark& benchmark) {
  const QJsonObject json = QJsonDocument::fromJson(line).object();
  const QString kind = json["kind"].toString();
  if (kind == QLatin1String("progress")) {
    return std::optional(BenchmarkProgress{json["doing"].toString(), json["done"].toDouble()});
  }
  if (kind == QLatin1String("start")) {
    if (json["schema"].toInt() != 1) {
      return Error{ErrorCode::kVersionMismatch,
                   "the worker is of another version of Highwater; install both together"};
    }
    readStart(json, benchmark);
  } else if (kind == QLatin1String("timing")) {
    benchmark.timings.push_back(timingOf(json));
  } else if (kind == QLatin1String("refused")) {
    benchmark.refused.push_back({textOf(json["name"]), textOf(json["why"])});
  } else if (kind == QLatin1String("drift")) {
    benchmark.drift = driftOf(json);
  } else if (kind == QLatin1String("end")) {
    benchmark.complete = true;
  } else {
    return Error{ErrorCode::kMalformed, "the worker printed what is no result of a benchmark: " +
                                            line.left(80).toStdString()};
  }
  return std::optional<BenchmarkProgress>();
}

BenchmarkRun::BenchmarkRun(BenchmarkRunOptions options, QObject* parent)
    : QObject(parent), options_(std::move(options)) {
  connect(&process_, &QProcess::readyReadStandardOutput, this, &BenchmarkRun::readLines);
  connect(&process_, &QProcess::readyReadStandardError, this,
          [this] { errors_.append(process_.readAllStandardError(), [](const QString&) {}); });
  connect(&process_, &QProcess::finished, this, &BenchmarkRun::finish);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) finish();
  });
}

BenchmarkRun::~BenchmarkRun() {
  process_.disconnect(this);
  if (process_.state() == QProcess::NotRunning) return;
  process_.kill();
  process_.waitForFinished(kKillWaitMs);
}

Result<void> BenchmarkRun::start() {
  auto program = options_.launch.workerProgram.isEmpty()
                     ? session::findWorker()
                     : Result<QString>(options_.launch.workerProgram);
  if (!program) return program.error();
  QProcessEnvironment environment = session::environmentWith(options_.launch.environment);
  session::addTorchLibraries(environment);
  process_.setProcessEnvironment(environment);
  process_.setStandardInputFile(QProcess::nullDevice());
  process_.start(*program, benchmarkArguments(options_));
  return {};
}

void BenchmarkRun::cancel() {
  if (over_) return;
  cancelled_ = true;
  process_.kill();
}

void BenchmarkRun::readLines() {
  pending_ += process_.readAllStandardOutput();
  for (qsizetype end = pending_.indexOf('\n'); end >= 0; end = pending_.indexOf('\n')) {
    const QByteArray line = pending_.left(end);
    pending_.remove(0, end + 1);
    const auto added = addBenchmarkLine(line, benchmark_);
    if (!added) {
      if (malformed_.isEmpty()) malformed_ = QString::fromStdString(added.error().message);
      process_.kill();
      return;
    }
    if (*added) {
      emit progressed(**added);
    } else {
      emit measured();
    }
  }
  if (pending_.size() > kLongestLine) {
    malformed_ = QStringLiteral("the worker printed a line that is too long");
    pending_.clear();
    process_.kill();
  }
}

void BenchmarkRun::finish() {
  if (over_) return;
  if (malformed_.isEmpty()) readLines();
  over_ = true;
  const auto ignore = [](const QString&) {};
  errors_.append(process_.readAllStandardError(), ignore);
  errors_.finish(ignore);
  outcome_ = outcomeOf(process_.error());
  emit ended();
}

Result<void> BenchmarkRun::outcomeOf(QProcess::ProcessError error) const {
  if (cancelled_) {
    const std::string kept = benchmark_.empty() ? "" : "; what it had measured is kept";
    return Error{ErrorCode::kEnded, "the benchmark was interrupted" + kept};
  }
  if (!malformed_.isEmpty()) return failure(malformed_.toStdString());
  if (error == QProcess::FailedToStart) {
    return failure(process_.program().toStdString() +
                   " cannot be started: " + process_.errorString().toStdString());
  }
  const bool crashed = process_.exitStatus() == QProcess::CrashExit;
  if (crashed) {
    return failure("the worker ended by " + session::signalText(process_.exitCode()).toStdString() +
                   "; what it had measured is kept");
  }
  if (process_.exitCode() == kExitDone && benchmark_.complete) return {};
  const QStringList& lines = errors_.lines();
  const std::string last =
      lines.isEmpty()
          ? "the worker ended without a result"
          : lines.back().section(QStringLiteral("highwater-worker: "), -1).toStdString();
  return Error{process_.exitCode() == kExitUsage ? ErrorCode::kUsage : ErrorCode::kFailed,
               session::withOptionNames(last, options_.launch.environment)};
}

}  // namespace highwater::run

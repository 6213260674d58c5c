#include "session/worker_launch.h"

#include <QCoreApplication>
#include <QFileInfo>

#include "core/knobs.h"
#include "session/checkpoint_files.h"

namespace highwater::session {
namespace {

constexpr int kShortestLimitMs = 500;
constexpr int kLongestLimitMs = 3'600'000;

Result<std::chrono::milliseconds> readLimit(const char* name, std::chrono::milliseconds standard) {
  const QByteArray text = qgetenv(name);
  if (text.isEmpty()) return standard;
  bool isNumber = false;
  const int ms = text.toInt(&isNumber);
  if (!isNumber || ms < kShortestLimitMs || ms > kLongestLimitMs) {
    return usageError(std::string(name) + " is \"" + text.toStdString() +
                      "\"; give whole milliseconds from 500 to 3600000");
  }
  return std::chrono::milliseconds(ms);
}

}  // namespace

Result<SupervisionLimits> readSupervisionLimits() {
  SupervisionLimits limits;
  auto silence = readLimit("HIGHWATER_HANG_TIMEOUT_MS", limits.silence);
  if (!silence) return silence.error();
  auto start = readLimit("HIGHWATER_START_TIMEOUT_MS", limits.start);
  if (!start) return start.error();
  return SupervisionLimits{*silence, *start};
}

Result<QString> findWorker() {
  const QString named = qEnvironmentVariable("HIGHWATER_WORKER");
  if (!named.isEmpty()) {
    if (QFileInfo::exists(named)) return named;
    return Error{ErrorCode::kNotFound,
                 "HIGHWATER_WORKER names " + named.toStdString() + ", which does not exist"};
  }
  const QString beside =
      QCoreApplication::applicationDirPath() + QStringLiteral("/highwater-worker");
  if (QFileInfo::exists(beside)) return beside;
  return Error{ErrorCode::kNotFound, "there is no highwater-worker beside this program (" +
                                         beside.toStdString() +
                                         "); build it, or name it in HIGHWATER_WORKER"};
}

QStringList workerArguments(const LaunchOptions& options) {
  QStringList arguments;
  const auto addText = [&arguments](const char* name, const QString& value) {
    if (!value.isEmpty()) arguments << QLatin1String(name) << value;
  };
  const auto addNumber = [&arguments](const char* name, auto value) {
    if (value != 0) arguments << QLatin1String(name) << QString::number(value);
  };
  const auto addReal = [&arguments](const char* name, double value) {
    if (value != 0) arguments << QLatin1String(name) << QString::number(value, 'g', 12);
  };
  addText("--device", options.device);
  addText("--workload", options.workload);
  addText("--preset", options.preset);
  addText("--data", options.dataFile);
  addText("--dtype", options.dtype);
  addNumber("--steps", options.steps);
  addNumber("--batch", options.batchSize);
  addNumber("--seq", options.sequenceLength);
  addNumber("--loss-every", options.lossEvery);
  addReal("--lr", options.learningRate);
  addNumber("--accumulate", options.accumulation);
  if (options.keepEffectiveBatch) arguments << QStringLiteral("--keep-effective-batch");
  if (options.precision != Precision::kUnknown) {
    const std::string_view name = precisionName(options.precision);
    arguments << QStringLiteral("--precision") << QString::fromStdString(std::string(name));
  }
  addReal("--memory-fraction", options.memoryFraction);
  if (options.outOfMemory != OutOfMemoryPolicy::kUnknown) {
    const std::string_view name = policyName(options.outOfMemory);
    arguments << QStringLiteral("--on-out-of-memory") << QString::fromStdString(std::string(name));
  }
  addNumber("--sampling-hz", options.samplingHz);
  addText("--level", options.probeLevel);
  addText("--scenario", options.scenario);
  for (const QString& op : options.acceptedOps) arguments << QStringLiteral("--accepted-op") << op;
  if (options.checkpoint) {
    const auto [first, second] = options.checkpoint->descriptors();
    arguments << QStringLiteral("--checkpoint") << QStringLiteral("%1,%2").arg(first).arg(second);
    if (options.checkpointSeconds) {
      arguments << QStringLiteral("--checkpoint-every")
                << QString::number(*options.checkpointSeconds, 'g', 12);
    }
    addText("--continue", options.continues);
  }
  if (options.seed) arguments << QStringLiteral("--seed") << QString::number(*options.seed);
  return arguments;
}

}  // namespace highwater::session

#include "session/worker_launch.h"

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

QStringList workerArguments(const LaunchOptions& options) {
  QStringList arguments;
  RunOptions run = static_cast<const RunOptions&>(options);
  run.onAbort.clear();  // only the host reads it
  addArguments(arguments, runOptionRows(), run);
  for (const QString& op : options.acceptedOps) arguments << QStringLiteral("--accepted-op") << op;
  if (options.checkpoint) {
    const auto [first, second] = options.checkpoint->descriptors();
    arguments << QStringLiteral("--checkpoint") << QStringLiteral("%1,%2").arg(first).arg(second);
    if (!options.continues.isEmpty())
      arguments << QStringLiteral("--continue") << options.continues;
  }
  return arguments;
}

}  // namespace highwater::session

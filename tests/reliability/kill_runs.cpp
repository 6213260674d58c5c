// kill_runs [COUNT] [--limit MS]: records COUNT runs whose worker is killed at a random moment, and
// COUNT whose `record` is, and prints how much of each run is missing in its recording: the time
// between the kill and the last recorded moment. Exit status 1 if a recording cannot be read, or if
// more than the limit is missing.
#include <signal.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QThread>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "core/clock.h"
#include "core/units.h"
#include "run/recording_loader.h"
#include "support/processes.h"
#include "support/run_program.h"

using namespace highwater;

namespace {

constexpr int kStartLimitMs = test::kWaitMs;
/// What a recording may lack at its end on an idle machine.
constexpr int kMayBeMissingMs = 250;

/// The last recorded moment, on the monotonic clock.
class LastMoment final : public MessageSink {
 public:
  void take(std::span<const std::uint8_t>, const Message& message) override {
    if (const auto* hello = std::get_if<Hello>(&message)) epochNs = hello->clock.monotonicEpochNs;
    if (const auto* batch = std::get_if<EventBatch>(&message)) {
      completeUpToNs = std::max(completeUpToNs, batch->completeUpToNs);
      steps += batch->steps.size();
    }
  }
  std::int64_t epochNs = 0, completeUpToNs = 0;
  std::size_t steps = 0;
};

/// What can be read by now.
std::size_t stepsIn(const QString& path) {
  LastMoment last;
  return run::loadReadablePart(path.toStdString(), last) ? last.steps : 0;
}

enum class Victim { kWorker, kRecord };

/// Milliseconds that are missing, or nothing if the run did not start or its recording is damaged.
std::optional<double> killOnce(Victim victim, const QString& path, std::int64_t afterMs) {
  QProcess record;
  record.setProcessChannelMode(QProcess::MergedChannels);
  record.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"),
               {"record", "--device", "sim", "--steps", "1000000", "--batch", "4", "--seq", "16",
                "-o", path});
  QElapsedTimer started;
  started.start();
  QByteArray said;
  while (!said.contains("\nstep ") && started.elapsed() < kStartLimitMs &&
         record.state() != QProcess::NotRunning) {
    record.waitForReadyRead(100);
    said += record.readAll();
  }
  const qint64 worker = test::workerOf(record.processId());
  const auto id = static_cast<pid_t>(victim == Victim::kWorker ? worker : record.processId());
  if (worker == 0 || id == 0) {
    std::fprintf(stderr, "the run did not start: %s\n", said.constData());
    record.kill();
    record.waitForFinished(kStartLimitMs);
    return std::nullopt;
  }
  // A run that is killed before its first step is in the file need not have a step.
  while (stepsIn(path) == 0 && started.elapsed() < kStartLimitMs) QThread::msleep(10);
  QThread::msleep(static_cast<unsigned long>(afterMs));
  const std::int64_t killedNs = monotonicNs();
  ::kill(id, SIGKILL);
  record.waitForFinished(kStartLimitMs);
  while (!test::isGone(worker)) QThread::msleep(10);

  LastMoment last;
  const auto loaded = run::loadRecording(path.toStdString(), last);
  const std::string problem = !loaded ? loaded.error().message
                              : loaded->damage.empty()
                                  ? ""
                                  : run::damageText(path.toStdString(), *loaded);
  if (!problem.empty() || last.steps == 0) {
    std::fprintf(stderr, "%s\n", problem.empty() ? "it has no steps" : problem.c_str());
    return std::nullopt;
  }
  return static_cast<double>(killedNs - last.epochNs - last.completeUpToNs) / kNsPerMs;
}

}  // namespace

int main(int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  QStringList arguments = QCoreApplication::arguments().mid(1);
  double limitMs = std::numeric_limits<double>::infinity();
  if (const qsizetype at = arguments.indexOf("--limit"); at >= 0 && at + 1 < arguments.size()) {
    limitMs = arguments[at + 1].toDouble();
    arguments.remove(at, 2);
  }
  const int count = arguments.isEmpty() ? 30 : arguments[0].toInt();
  if (count <= 0 || arguments.size() > 1) {
    std::fputs("usage: kill_runs [COUNT] [--limit MS]\n", stderr);
    return 2;
  }
  QTemporaryDir folder;
  const unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random{seed};
  std::uniform_int_distribution<std::int64_t> pauseMs(kMayBeMissingMs, 3000);
  bool good = true;
  std::printf("milliseconds of the run that are missing\n%-8s %6s %8s %8s\n", "killed", "runs",
              "median", "most");
  for (const Victim victim : {Victim::kWorker, Victim::kRecord}) {
    std::vector<double> missing;
    for (int i = 0; i < count; ++i) {
      const QString path = folder.filePath(QString::number(i) + ".highwater");
      const auto ms = killOnce(victim, path, pauseMs(random));
      if (ms) missing.push_back(*ms);
      good = good && ms && *ms <= limitMs;
      for (const char* suffix : {"", "-wal", "-shm"}) QFile::remove(path + suffix);
    }
    std::sort(missing.begin(), missing.end());
    if (missing.empty()) continue;
    std::printf("%-8s %6zu %8.0f %8.0f\n", victim == Victim::kWorker ? "worker" : "record",
                missing.size(), missing[missing.size() / 2], missing.back());
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}

// The exact peaks of phases and steps, to the byte, against the ledger of the simulated device.
#include <QVersionNumber>

#include "support/test_program.h"
#include "worker/worker_process.h"

using namespace highwater;
using worker::test::Stream;
using worker::test::WorkerProcess;

namespace {

/// Current and reserved after an entry of the ledger, at a time of the run.
struct Balance {
  std::int64_t timeNs = 0;
  std::uint64_t currentBytes = 0;
  std::uint64_t reservedBytes = 0;
};

std::vector<Balance> readBooks(const QString& path, std::int64_t epochNs) {
  std::vector<Balance> books;
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return books;
  Balance now;
  while (!file.atEnd()) {
    const QJsonObject entry = QJsonDocument::fromJson(file.readLine()).object();
    const QString event = entry["event"].toString();
    const auto bytes = static_cast<std::uint64_t>(entry["bytes"].toInteger());
    if (event == "reserve_heap") now.reservedBytes += bytes;
    if (event == "release_heap") now.reservedBytes -= bytes;
    if (event == "allocate" || event == "free") {
      now.currentBytes = static_cast<std::uint64_t>(entry["current_bytes"].toInteger());
    } else if (!event.endsWith("_heap")) {
      continue;
    }
    now.timeNs = entry["time_ns"].toInteger() - epochNs;
    books.push_back(now);
  }
  return books;
}

/// The peaks from `begin` to `end`, starting with the balance at `begin`, and the balance at `end`.
struct Peaks {
  std::uint64_t current = 0, reserved = 0, last = 0;
};
Peaks peaksOf(const std::vector<Balance>& books, std::int64_t beginNs, std::int64_t endNs) {
  Peaks peaks;
  Balance now;
  for (const Balance& entry : books) {
    if (entry.timeNs > endNs) break;
    if (entry.timeNs >= beginNs) {
      peaks.current = std::max({peaks.current, now.currentBytes, entry.currentBytes});
      peaks.reserved = std::max({peaks.reserved, now.reservedBytes, entry.reservedBytes});
    }
    now = entry;
  }
  return {std::max(peaks.current, now.currentBytes), std::max(peaks.reserved, now.reservedBytes),
          now.currentBytes};
}

/// Whether PyTorch keeps the peaks of a device's memory.
bool hasPeaks() {
  return QVersionNumber::fromString(QStringLiteral(TORCH_VERSION)) >= QVersionNumber(2, 9);
}

}  // namespace

class TestPhaseMemory : public QObject {
  Q_OBJECT
 private slots:
  void samplesPeaksBeforePyTorchKeepsThem() {
    if (hasPeaks()) QSKIP("this PyTorch keeps the peaks");
    QVERIFY(train("monitor"));
    QVERIFY(stream_.phaseMemory.empty() && !stream_.phases.empty());
    for (const auto& step : stream_.steps) {
      const Peaks truth = peaksOf(books_, step.begin_ns(), step.begin_ns() + step.duration_ns());
      QCOMPARE(step.peak_current_exact(), std::uint8_t{0});
      QVERIFY(step.peak_current_bytes() > 0 && step.peak_current_bytes() <= truth.current);
    }
  }

  void phasesAreExactToTheByte() {
    if (!hasPeaks()) QSKIP("this PyTorch does not keep the peaks");
    QVERIFY(train("monitor"));
    QVERIFY(stream_.phases.size() >= 6 * 5);
    QCOMPARE(stream_.phaseMemory.size(), stream_.phases.size());
    for (std::size_t i = 0; i < stream_.phases.size(); ++i) {
      const auto& phase = stream_.phases[i];
      const auto& memory = stream_.phaseMemory[i];
      QCOMPARE(memory.phase(), phase.phase());
      QCOMPARE(memory.step(), phase.step());
      const Peaks truth = peaksOf(books_, phase.begin_ns(), memory.time_ns());
      QCOMPARE(memory.peak_current_bytes(), truth.current);
      QCOMPARE(memory.peak_reserved_bytes(), truth.reserved);
      QCOMPARE(memory.current_bytes(), truth.last);
    }
  }

  void stepsAreTheMaximumOverTheirPhases() {
    if (!hasPeaks()) QSKIP("this PyTorch does not keep the peaks");
    std::map<std::uint32_t, std::uint64_t> phases;
    for (const auto& memory : stream_.phaseMemory) {
      phases[memory.step()] = std::max(phases[memory.step()], memory.peak_current_bytes());
    }
    for (const auto& step : stream_.steps) {
      QCOMPARE(step.peak_current_exact(), std::uint8_t{1});
      QCOMPARE(step.peak_current_bytes(), phases[step.step()]);
      const Peaks truth = peaksOf(books_, step.begin_ns(), step.begin_ns() + step.duration_ns());
      QCOMPARE(step.peak_current_bytes(), truth.current);
    }
  }

  void offKeepsTheStepsPeak() {
    if (!hasPeaks()) QSKIP("this PyTorch does not keep the peaks");
    QVERIFY(train("off"));
    QVERIFY(stream_.phaseMemory.empty() && stream_.phases.empty());
    QVERIFY(stream_.syncPoints.empty() && stream_.ops.empty());
    for (const auto& step : stream_.steps) {
      const Peaks truth = peaksOf(books_, step.begin_ns(), step.begin_ns() + step.duration_ns());
      QCOMPARE(step.peak_current_exact(), std::uint8_t{1});
      QCOMPARE(step.peak_current_bytes(), truth.current);
    }
  }

 private:
  /// Trains some steps at `level`. False where that fails.
  bool train(const QString& level) {
    const QString ledger = folder_.filePath(level);
    WorkerProcess process({"--device", "sim", "--steps", "6", "--batch", "8", "--seq", "32",
                           "--level", level, "--autostart"},
                          {{"HIGHWATER_SIM_LEDGER", ledger}});
    const int code = process.finish();
    if (code != 0) qWarning("%s", qPrintable(process.errors()));
    stream_ = process.stream();
    if (!stream_.complaint.isEmpty()) qWarning("%s", qPrintable(stream_.complaint));
    if (!stream_.hello) return false;
    books_ = readBooks(ledger, stream_.hello->clock.monotonicEpochNs);
    return code == 0 && stream_.complaint.isEmpty() && stream_.steps.size() == 6;
  }

  QTemporaryDir folder_;
  Stream stream_;
  std::vector<Balance> books_;
};

HIGHWATER_TEST(TestPhaseMemory, QCoreApplication)
#include "tst_phase_memory.moc"

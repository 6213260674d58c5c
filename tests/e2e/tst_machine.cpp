// The simulated machine in a recording: rising memory of other applications, and a process that
// grows outside of driver memory.
#include <QSaveFile>
#include <csignal>

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "core/units.h"
#include "e2e/runs.h"
#include "run/recording_loader.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

class TestMachine : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  analysis::LiveStore store_;

  [[nodiscard]] QString file() const { return folder_.filePath("a.highwater"); }
  [[nodiscard]] static QStringList arguments(const QString& file, int steps) {
    return {"record", "--device", "sim", "--steps", QString::number(steps), "--batch", "8", "--seq",
            "32",     "-o",       file,  "--force"};
  }
  /// Reads what has been recorded so far.
  [[nodiscard]] bool load() {
    store_.clear();
    return run::loadReadablePart(file().toStdString(), store_).ok();
  }
  /// The driver memory in the last sample until `ns`.
  [[nodiscard]] double driverAt(std::int64_t ns) const {
    const auto& times = store_.memory().timesNs;
    const auto next = std::upper_bound(times.begin(), times.end(), ns);
    return next == times.begin()
               ? 0
               : store_.memory().driver[static_cast<std::size_t>(next - times.begin()) - 1];
  }
  [[nodiscard]] int stepsDoneAt(std::int64_t ns) const {
    const auto& steps = store_.steps().records;
    return static_cast<int>(std::count_if(steps.begin(), steps.end(), [ns](const auto& step) {
      return step.begin_ns() + step.duration_ns() <= ns;
    }));
  }

 private slots:
  /// What others use grows when the recording has samples of what they used before, so that no
  /// level is missed on a busy machine.
  void pressureSwapAndHeatAreRecorded() {
    const QString other = folder_.filePath("other");
    const auto othersUse = [&](const char* size) {
      QSaveFile text(other);
      QVERIFY(text.open(QIODevice::WriteOnly) && text.write(size) > 0 && text.commit());
    };
    const auto hasLevel = [&](events::Pressure level) {
      if (!load()) return false;
      const auto& levels = store_.system().pressure;
      return !levels.empty() && levels.back() == level;
    };
    othersUse("1GiB");
    QProcess run;
    run.setStandardInputFile(QProcess::nullDevice());
    run.setProcessEnvironment(test::environmentWith(
        {"HIGHWATER_SIM_SYSTEM_MEMORY=4GiB", "HIGHWATER_SIM_OTHER_MEMORY=file:" + other,
         "HIGHWATER_SIM_THERMAL=1s:fair,2s:serious", "HIGHWATER_SIM_LOW_POWER=1"}));
    run.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"), arguments(file(), 100'000));
    // Of 4 GiB the process uses some 0.4: 6.2 GiB for others are 1.7 times the rest, 12 GiB 3
    // times.
    QTRY_VERIFY_WITH_TIMEOUT(hasLevel(events::Pressure::Normal), kWaitMs);
    othersUse("6.2GiB");
    QTRY_VERIFY_WITH_TIMEOUT(hasLevel(events::Pressure::Warning), kWaitMs);
    othersUse("12GiB");
    QTRY_VERIFY_WITH_TIMEOUT(hasLevel(events::Pressure::Critical) &&
                                 store_.machine().thermal.back() == events::ThermalState::Serious,
                             kWaitMs);
    QCOMPARE(::kill(static_cast<pid_t>(run.processId()), SIGINT), 0);
    QVERIFY(run.waitForFinished(kWaitMs));
    QCOMPARE(run.exitCode(), int(kExitEndedEarly));
    QVERIFY(load());
    QCOMPARE(store_.hello()->limits.systemBytes, 4 * kGiB);

    const analysis::SystemColumns& system = store_.system();
    std::vector<events::Pressure> levels = {system.pressure.front()};
    for (std::size_t i = 1; i < system.timesNs.size(); ++i) {
      QVERIFY2(system.swapUsed[i] >= system.swapUsed[i - 1] * 0.9, "others only grow");
      if (system.pressure[i] != levels.back()) levels.push_back(system.pressure[i]);
    }
    QCOMPARE(levels, (std::vector{events::Pressure::Normal, events::Pressure::Warning,
                                  events::Pressure::Critical}));
    const std::size_t last = system.timesNs.size() - 1;
    QCOMPARE(system.swapUsed[0], 0.0);
    QVERIFY(system.swapUsed[last] > 2.0 * kGiB);
    QVERIFY(system.available[0] > 2.0 * kGiB && system.available[0] < 3.0 * kGiB);
    QCOMPARE(system.available[last], 0.0);
    const analysis::MachineColumns& machine = store_.machine();
    QCOMPARE(machine.timesNs.size(), system.timesNs.size());
    QVERIFY(std::is_sorted(machine.thermal.begin(), machine.thermal.end()));
    QCOMPARE(machine.power.back(), events::PowerMode::Low);
    QVERIFY(machine.swappedOut[last] > 1.0 * kGiB);
    QVERIFY(machine.compressor[last] > 1.0 * kGiB);
    QVERIFY(machine.gpuBytes[last] > 0);

    const QJsonObject report = jsonOf(runHighwater({"report", file(), "--json"}));
    const QJsonObject seen = report["system"].toObject();
    QCOMPARE(seen["pressure_highest"].toString(), QString("critical"));
    QVERIFY(seen["swap_used_peak"].toInteger() > qint64(2 * kGiB));
    QVERIFY(seen["swap_peak_per_s"].toInteger() > 0);
    QCOMPARE(seen["thermal"]["highest"].toString(), QString("serious"));
    QCOMPARE(seen["low_power_share"].toDouble(), 1.0);
    QCOMPARE(report["memory"]["system"].toInteger(), qint64(4 * kGiB));
    QVERIFY(report["memory"]["gpu_wired_limit"].isNull());
    const QString text = test::reportText(file());
    for (const char* part : {"pressure critical", "simulated", "thermal state up to serious",
                             "Low Power Mode is on"}) {
      QVERIFY2(text.contains(QLatin1String(part)), qPrintable(text));
    }
  }

  void hiddenGrowthShowsInTheFootprint() {
    constexpr double kGrowth = 64.0 * kMiB;
    const Outcome run = runHighwater(
        arguments(file(), 60),
        // About 500 kernels a step start 100 us late each, so that there are samples enough.
        {"HIGHWATER_SIM_HIDDEN_GROWTH=64MiB", "HIGHWATER_SIM_LAUNCH_DELAY=100us"});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    QVERIFY(load());
    const analysis::SystemColumns& system = store_.system();
    struct Row {
      int steps;
      double hiddenBytes;
    };
    std::vector<Row> rows;
    for (std::size_t i = 0; i < system.timesNs.size(); ++i) {
      const std::int64_t ns = system.timesNs[i];
      const double hidden = system.footprint[i] - driverAt(ns);
      QVERIFY2(hidden > 0, "the footprint holds the driver's memory");
      // libtorch's own memory grows in the first steps.
      if (stepsDoneAt(ns) >= 5) rows.push_back({stepsDoneAt(ns), hidden});
    }
    QVERIFY(rows.size() >= 10 && rows.back().steps - rows.front().steps >= 30);
    std::vector<double> aside;  // of the line through the first
    for (const Row& row : rows) {
      aside.push_back(row.hiddenBytes - rows.front().hiddenBytes -
                      kGrowth * (row.steps - rows.front().steps));
    }
    std::sort(aside.begin(), aside.end());
    // A step may end between a sample's time and its reading, more of them where the thread loses
    // its core in between: nine tenths of the samples lie within one step's growth. The host's
    // heap, with or without the graph of a step, adds under 48 MiB.
    const double spread = aside[aside.size() * 19 / 20] - aside[aside.size() / 20];
    QVERIFY2(spread <= kGrowth + 48.0 * kMiB, qPrintable(QString::number(spread / kMiB)));
  }
};

HIGHWATER_TEST(TestMachine, QCoreApplication)
#include "tst_machine.moc"

// The simulated machine in a recording: rising memory of other applications, and a process that
// grows outside of driver memory.
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "core/units.h"
#include "e2e/runs.h"
#include "session/recording_loader.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::jsonOf;
using highwater::test::Outcome;
using highwater::test::runHighwater;

class TestMachine : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  analysis::LiveStore store_;

  /// Records a run of some seconds: about 500 kernels a step start 100 us late each.
  Outcome record(int steps, QStringList environment) {
    environment << "HIGHWATER_SIM_LAUNCH_DELAY=100us";
    Outcome run = runHighwater({"record", "--device", "sim", "--steps", QString::number(steps),
                                "--batch", "8", "--seq", "32", "-o", file()},
                               environment);
    store_.clear();
    if (run.exitCode == kExitDone && !session::loadRecording(file().toStdString(), store_)) {
      run.exitCode = -1;
    }
    return run;
  }
  [[nodiscard]] QString file() const { return folder_->filePath("a.highwater"); }
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
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }
  void pressureAndSwapRiseWithOtherMemory() {
    // Of 4 GiB the process uses some 0.4: 6.2 GiB for others are 1.7 times the rest, 12 GiB 3
    // times.
    const Outcome run = record(80, {"HIGHWATER_SIM_SYSTEM_MEMORY=4GiB",
                                    "HIGHWATER_SIM_OTHER_MEMORY=0s:1GiB,1.5s:6.2GiB,3s:12GiB"});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    QCOMPARE(store_.hello()->limits.systemBytes, 4 * kGiB);

    const analysis::SystemColumns& system = store_.system();
    QVERIFY(system.timesNs.size() >= 10);
    std::vector<events::Pressure> levels = {system.pressure.front()};
    for (std::size_t i = 1; i < system.timesNs.size(); ++i) {
      QVERIFY2(system.swapUsed[i] >= system.swapUsed[i - 1] * 0.9, "others only grow");
      if (system.pressure[i] != levels.back()) levels.push_back(system.pressure[i]);
    }
    QCOMPARE(levels, (std::vector{events::Pressure::Normal, events::Pressure::Warning,
                                  events::Pressure::Critical}));
    QCOMPARE(system.swapUsed[0], 0.0);
    QVERIFY(system.swapUsed[system.timesNs.size() - 1] > 2.0 * kGiB);
    QVERIFY(system.available[0] > 2.0 * kGiB && system.available[0] < 3.0 * kGiB);
    QCOMPARE(system.available[system.timesNs.size() - 1], 0.0);

    const Outcome outcome = runHighwater({"report", file(), "--json"});
    const QJsonObject report = jsonOf(outcome);
    QCOMPARE(report["system"]["pressure_highest"].toString(), QString("critical"));
    QVERIFY(report["system"]["swap_used_peak"].toInteger() > qint64(2 * kGiB));
    QCOMPARE(report["memory"]["system"].toInteger(), qint64(4 * kGiB));
    const QString text = test::reportText(file());
    QVERIFY2(text.contains("pressure critical") && text.contains("simulated"), qPrintable(text));
  }

  void heatAndSwapTrafficAreRecorded() {
    const Outcome run = record(
        80, {"HIGHWATER_SIM_SYSTEM_MEMORY=4GiB", "HIGHWATER_SIM_OTHER_MEMORY=0s:6.5GiB,3s:12GiB",
             "HIGHWATER_SIM_THERMAL=2s:fair,3s:serious", "HIGHWATER_SIM_LOW_POWER=1"});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    const analysis::MachineColumns& machine = store_.machine();
    QVERIFY(machine.timesNs.size() >= 10);
    QCOMPARE(machine.timesNs.size(), store_.system().timesNs.size());
    // The script's clock starts before the training does, how long before depends on the machine.
    QVERIFY(machine.thermal.front() < events::ThermalState::Serious);
    QVERIFY(std::is_sorted(machine.thermal.begin(), machine.thermal.end()));
    QCOMPARE(machine.thermal.back(), events::ThermalState::Serious);
    QCOMPARE(machine.power.back(), events::PowerMode::Low);
    const std::size_t last = machine.timesNs.size() - 1;
    QVERIFY(machine.swappedOut[last] > 1.0 * kGiB);
    QVERIFY(machine.compressor[last] > 1.0 * kGiB);
    QVERIFY(machine.gpuBytes[last] > 0);

    const Outcome outcome = runHighwater({"report", file(), "--json"});
    const QJsonObject report = jsonOf(outcome);
    const QJsonObject system = report["system"].toObject();
    QCOMPARE(system["thermal"]["highest"].toString(), QString("serious"));
    QCOMPARE(system["low_power_share"].toDouble(), 1.0);
    QVERIFY(system["swap_peak_per_s"].toInteger() > qint64(kGiB));
    QVERIFY(report["memory"]["gpu_wired_limit"].isNull());
    const QString text = test::reportText(file());
    QVERIFY2(text.contains("thermal state up to serious") && text.contains("Low Power Mode is on"),
             qPrintable(text));
  }

  void hiddenGrowthShowsInTheFootprint() {
    constexpr double kGrowth = 64.0 * kMiB;
    const Outcome run = record(60, {"HIGHWATER_SIM_HIDDEN_GROWTH=64MiB"});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
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
    for (const Row& row : rows) {
      const double grown = row.hiddenBytes - rows.front().hiddenBytes;
      const double expected = kGrowth * (row.steps - rows.front().steps);
      // A step may end between a sample's time and its reading, at either end of the difference:
      // one step's growth. The host's heap, with or without the graph of a step, adds under 48 MiB.
      QVERIFY2(std::fabs(grown - expected) <= kGrowth + 48.0 * kMiB,
               qPrintable(QString("after %1 steps: %2 MiB, expected %3 MiB")
                              .arg(row.steps)
                              .arg(grown / kMiB)
                              .arg(expected / kMiB)));
    }
  }

  void aWrongScriptIsWrongUsage() {
    const Outcome run = record(1, {"HIGHWATER_SIM_OTHER_MEMORY=5s:1GiB,2s:3GiB"});
    QCOMPARE(run.exitCode, int(kExitUsage));
    QVERIFY2(run.err.contains("HIGHWATER_SIM_OTHER_MEMORY") && run.err.contains("file:PATH"),
             qPrintable(run.err));
  }
};

HIGHWATER_TEST(TestMachine, QCoreApplication)
#include "tst_machine.moc"

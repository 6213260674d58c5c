#include "models/machine_rows.h"
#include "models/qt_text.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using analysis::LiveStore;

namespace {

/// The value and the note in a row; empty if there is no such row.
QString valueOf(const LiveStore& store, const char* name) {
  for (const NotedValue& row : machineRows(store)) {
    if (row.name == QLatin1String(name)) return (row.value + QLatin1Char(' ') + row.note).trimmed();
  }
  return {};
}

}  // namespace

class TestMachineRows : public QObject {
  Q_OBJECT

 private slots:
  void hasOnlyWhatIsKnown() {
    LiveStore store;
    QVERIFY(machineRows(store).empty());
    test::feed(test::makeSampleRun(), store);
    const double driver = store.memory().driver[store.memory().timesNs.size() - 1];
    QCOMPARE(valueOf(store, "Driver allocated now"),
             bytesText(driver) + ' ' + percentText(driver / (8.0 * (1U << 30))));
    QVERIFY(valueOf(store, "Held-out accuracy").contains(" % step "));
    QCOMPARE(machineRows(store).size(), std::size_t{2});
  }

  void showsTheGpuIfItIsKnown() {
    LiveStore store;
    test::feed(test::makeSampleRun({.gpuPercent = 62.4f}), store);
    QCOMPARE(valueOf(store, "GPU utilization now"), QStringLiteral("62 %"));
  }

  void showsASystemUnderPressure() {
    LiveStore store;
    const auto row = [&store](const char* name) { return valueOf(store, name); };
    const auto sample = [&store](std::int64_t timeNs, std::int64_t swap,
                                 events::Pressure pressure) {
      const events::SystemSample reading(timeNs, 1, 1, swap, -1, pressure);
      EventBatch batch;
      batch.completeUpToNs = timeNs;
      batch.systemSamples = {&reading, 1};
      store.apply(batch);
    };
    sample(1, 0, events::Pressure::Normal);
    QCOMPARE(row("Memory pressure") + row("Swap used"), QString());
    sample(2, std::int64_t{5} << 20, events::Pressure::Critical);
    QCOMPARE(row("Memory pressure"), QStringLiteral("critical"));
    QCOMPARE(row("Swap used"), QStringLiteral("5.0 MiB"));
  }

  void showsWhatSlowsTheMachineDown() {
    LiveStore store;
    const auto row = [&store](const char* name) { return valueOf(store, name); };
    const auto sample = [&store](std::int64_t ms, std::int64_t out, events::ThermalState thermal,
                                 events::PowerMode power) {
      const events::SystemSample system(ms * 1'000'000, 1, 1, 0, -1, events::Pressure::Normal);
      const events::MachineSample machine(ms * 1'000'000, 0, 0, out, -1, thermal, power);
      EventBatch batch;
      batch.completeUpToNs = ms * 1'000'000;
      batch.systemSamples = {&system, 1};
      batch.machineSamples = {&machine, 1};
      store.apply(batch);
    };
    sample(0, 0, events::ThermalState::Nominal, events::PowerMode::Normal);
    sample(500, 0, events::ThermalState::Nominal, events::PowerMode::Normal);
    QCOMPARE(row("Thermal state") + row("Low Power Mode") + row("Swapping"), QString());
    sample(1000, std::int64_t{5} << 20, events::ThermalState::Serious, events::PowerMode::Low);
    QCOMPARE(row("Thermal state"), QStringLiteral("serious"));
    QCOMPARE(row("Low Power Mode"), QStringLiteral("on"));
    QCOMPARE(row("Swapping"), QStringLiteral("5.0 MiB/s"));
    sample(3000, std::int64_t{5} << 20, events::ThermalState::Unknown, events::PowerMode::Unknown);
    QCOMPARE(row("Thermal state") + row("Low Power Mode") + row("Swapping"), QString());
  }
};

HIGHWATER_TEST(TestMachineRows, QCoreApplication)
#include "tst_machine_rows.moc"

#include <QTest>

#include "model_test.h"
#include "models/now_model.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using analysis::LiveStore;
using test::cell;
using test::kFatal;

namespace {

/// The value in a row of the model after it was refreshed; empty if there is no such row.
QString refreshedValue(NowModel& model, const char* name) {
  model.refresh();
  const auto found = model.match(model.index(0, NowModel::kName), Qt::DisplayRole, name);
  return found.isEmpty() ? QString() : cell(model, found[0].row(), NowModel::kValue);
}

}  // namespace

class TestNowModel : public QObject {
  Q_OBJECT

 private slots:
  void fillsDuringARun() {
    LiveStore store;
    NowModel model(&store);
    const QAbstractItemModelTester tester(&model, kFatal);
    const auto value = [&](const QString& name) {
      for (int row = 0; row < model.rowCount(); ++row) {
        if (cell(model, row, NowModel::kName).startsWith(name)) {
          return cell(model, row, NowModel::kValue);
        }
      }
      return QStringLiteral("no such row");
    };
    QCOMPARE(value("Current allocated"), QStringLiteral("–"));
    test::feed(test::makeSampleRun(), store);
    model.refresh();
    QCOMPARE(value("Recommended max"), QStringLiteral("8.00 GiB"));
    QVERIFY(value("Current allocated").endsWith("iB"));
    QVERIFY(value("Of recommended").endsWith(" %"));
    QVERIFY(value("Last current peak").endsWith("exact"));
    QVERIFY(value("Step time p50").endsWith(" ms"));
    QVERIFY(value("Loss at step 60").toDouble() > 0);
    QVERIFY(value("Held-out accuracy").endsWith(" %"));
    QCOMPARE(value("GPU utilization"), QStringLiteral("no such row"));
    // The batch doubles before step 30: the numbers are of no older step.
    QCOMPARE(value("Since batch 16 → 32"), QStringLiteral("30–60"));
    const int all = model.rowCount();
    model.setShort(true);
    QVERIFY(model.rowCount() < all);
    QVERIFY(value("Driver allocated").endsWith("iB"));
  }

  void waitsForTheQueueToFill() {
    for (const std::uint32_t steps : {1U, 2U, 3U}) {
      LiveStore store;
      test::feed(test::makeSampleRun({.steps = steps}), store);
      NowModel model(&store);
      const QModelIndexList found =
          model.match(model.index(0, NowModel::kName), Qt::DisplayRole, "Throughput");
      QCOMPARE(found.size(), 1);
      const QString rate = cell(model, found[0].row(), NowModel::kValue);
      QVERIFY2((rate == QStringLiteral("–")) == (steps < 3), qPrintable(rate));
    }
  }

  void showsTheGpuIfItIsKnown() {
    LiveStore store;
    test::feed(test::makeSampleRun({.gpuPercent = 62.4f}), store);
    NowModel model(&store);
    const QAbstractItemModelTester tester(&model, kFatal);
    const QModelIndexList found =
        model.match(model.index(0, NowModel::kName), Qt::DisplayRole, "GPU utilization");
    QCOMPARE(found.size(), 1);
    QCOMPARE(cell(model, found[0].row(), NowModel::kValue), QStringLiteral("62 %"));
  }

  void showsASystemUnderPressure() {
    LiveStore store;
    NowModel model(&store);
    const QAbstractItemModelTester tester(&model, kFatal);
    const auto row = [&model](const char* name) { return refreshedValue(model, name); };
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
    NowModel model(&store);
    const QAbstractItemModelTester tester(&model, kFatal);
    const auto row = [&model](const char* name) { return refreshedValue(model, name); };
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

HIGHWATER_TEST(TestNowModel, QCoreApplication)
#include "tst_now_model.moc"

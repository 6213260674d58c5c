#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>
#include <limits>
#include <vector>

#include "analysis/run_summary.h"
#include "models/log_model.h"
#include "models/now_model.h"
#include "models/op_times_model.h"
#include "models/op_totals_model.h"
#include "models/sorted_rows.h"
#include "models/step_model.h"
#include "support/sample_run.h"

using namespace highwater;
using namespace highwater::models;
using analysis::LiveStore;

namespace {

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

QString cell(const QAbstractItemModel& model, int row, int column) {
  return model.index(row, column).data().toString();
}

double stepsMs(const LiveStore& store) {
  double ms = 0;
  for (const auto& step : store.steps().records) {
    ms += static_cast<double>(step.duration_ns()) / 1e6;
  }
  return ms;
}

}  // namespace

class TestModels : public QObject {
  Q_OBJECT

 private slots:
  void opTotalsShowWhatWasCounted();
  void opTotalsKeepRowsWhileTheOpsStayTheSame();
  void opTimesByOpAndByModule();
  void stepsComeNewestFirstAndGrow();
  void stepsSortWithALossThatIsNone();
  void stepsResetForAnotherRun();
  void nowFillsAsTheRunGoesOn();
  void nowShowsTheGpuWhereItIsKnown();
  void nowShowsASystemUnderPressure();
  void logKeepsMarkersAndIsBounded();
};

void TestModels::opTotalsShowWhatWasCounted() {
  LiveStore store;
  test::feed(test::makeSampleRun({.steps = 40, .doubleBatchAtStep = 0}), store);
  const auto summary = analysis::summarize(store);
  FallbackModel fallbacks;
  const QAbstractItemModelTester tester(&fallbacks, kFatal);
  fallbacks.refresh(summary.fallbacks, stepsMs(store));

  QCOMPARE(fallbacks.rowCount(), 1);  // one op, at one place
  QCOMPARE(cell(fallbacks, 0, OpTotalsModel::kOp), QStringLiteral("embedding_renorm_"));
  QCOMPARE(cell(fallbacks, 0, OpTotalsModel::kCount), QStringLiteral("10"));  // every 4th of 40
  QCOMPARE(cell(fallbacks, 0, OpTotalsModel::kBytes), QStringLiteral("40.0 MiB"));
  QCOMPARE(cell(fallbacks, 0, OpTotalsModel::kWhere), QStringLiteral("forward, embedding"));
  const double share = fallbacks.index(0, 0).data(OpTotalsModel::kShareRole).toDouble();
  QVERIFY(qAbs(share - summary.fallbackMs / stepsMs(store)) < 1e-9);
  QCOMPARE(fallbacks.rowOf(QStringLiteral("aten::embedding_renorm_"),
                           QStringLiteral("forward, embedding")),
           0);
  QCOMPARE(fallbacks.rowOf(QStringLiteral("aten::mm"), QString()), -1);

  SyncPointModel syncs;
  const QAbstractItemModelTester syncTester(&syncs, kFatal);
  syncs.refresh(summary.syncPoints, stepsMs(store));
  QCOMPARE(syncs.rowCount(), 3);
  const int nonzero =
      syncs.rowOf(QStringLiteral("aten::nonzero"), QStringLiteral("backward, encoder.layers.1"));
  const int copy = syncs.rowOf(QStringLiteral("aten::_to_copy"), QStringLiteral("device move"));
  QVERIFY(nonzero >= 0 && copy >= 0);
  QVERIFY(!syncs.index(nonzero, 0).data(OpTotalsModel::kDeliberateRole).toBool());
  QVERIFY(syncs.index(copy, 0).data(OpTotalsModel::kDeliberateRole).toBool());
  QCOMPARE(syncs.headerData(OpTotalsModel::kTotalMs, Qt::Horizontal).toString(),
           QStringLiteral("Wait ms"));
}

void TestModels::opTotalsKeepRowsWhileTheOpsStayTheSame() {
  FallbackModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  analysis::OpTotal total;
  total.op = "aten::mm";
  total.where = "forward";
  total.count = 1;
  model.refresh({total}, 100);
  const QPersistentModelIndex held = model.index(0, OpTotalsModel::kCount);
  QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
  total.count = 2;
  model.refresh({total}, 100);
  QCOMPARE(changed.count(), 1);
  QVERIFY(held.isValid());
  QCOMPARE(held.data().toString(), QStringLiteral("2"));
  model.refresh({}, 100);
  QVERIFY(!held.isValid());
  QCOMPARE(model.rowCount(), 0);
}

void TestModels::opTimesByOpAndByModule() {
  LiveStore store;
  test::feed(test::makeSampleRun({.steps = 20, .opsFromStep = 11}), store);
  OpTimesModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  analysis::RunningOpTimes running(&store);
  model.refresh(running.update());
  const int linear = model.rowOf(QStringLiteral("aten::linear"));
  QVERIFY(linear >= 0);
  QCOMPARE(cell(model, linear, OpTimesModel::kName), QStringLiteral("linear"));
  QCOMPARE(cell(model, linear, OpTimesModel::kCount), QStringLiteral("60"));
  QCOMPARE(cell(model, linear, OpTimesModel::kPerStep), QStringLiteral("6.0"));
  QCOMPARE(cell(model, linear, OpTimesModel::kGrown), QStringLiteral("4.0 MiB"));
  QCOMPARE(cell(model, linear, OpTimesModel::kWhere), QStringLiteral("encoder.layers.1"));
  const double total = cell(model, linear, OpTimesModel::kTotalMs).toDouble();
  const double self = cell(model, linear, OpTimesModel::kSelfMs).toDouble();
  QVERIFY(self > 0 && self < total);
  double shares = 0;
  for (int row = 0; row < model.rowCount(); ++row) {
    shares += model.index(row, 0).data(OpTotalsModel::kShareRole).toDouble();
  }
  QVERIFY(qAbs(shares - 1) < 1e-9);
  model.setGrouping(OpTimesModel::Grouping::kByModule);
  QCOMPARE(model.rowCount(), 1);
  QCOMPARE(cell(model, 0, OpTimesModel::kName), QStringLiteral("encoder.layers.1"));
  QCOMPARE(cell(model, 0, OpTimesModel::kTotalMs), QStringLiteral("–"));
  QCOMPARE(model.rowOf(QStringLiteral("aten::linear")), -1);
  model.refresh({});
  QCOMPARE(model.rowCount(), 0);
}

void TestModels::stepsSortWithALossThatIsNone() {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<events::StepRecord> steps;
  for (const float loss : {3.0F, kNan, 1.0F, kNan, 2.0F}) {
    const auto number = static_cast<std::uint32_t>(steps.size() + 1);
    steps.emplace_back(number * 1'000'000, 1'000'000, 0, 0, -1, number, 1, 1, 1, loss, 1, 0);
  }
  EventBatch batch;
  batch.completeUpToNs = 10'000'000;
  batch.steps = steps;
  LiveStore store;
  store.apply(batch);
  StepModel model(&store);
  SortedRows sorted;
  sorted.setSourceModel(&model);
  sorted.sort(StepModel::kLoss);
  QStringList losses;
  for (int row = 0; row < sorted.rowCount(); ++row) {
    losses << sorted.index(row, StepModel::kLoss).data().toString();
  }
  QCOMPARE(losses.mid(0, 3), QStringList({"1.0000", "2.0000", "3.0000"}));
  QCOMPARE(sorted.rowCount(), 5);
}

void TestModels::stepsComeNewestFirstAndGrow() {
  const auto run = test::makeSampleRun({.steps = 20});
  LiveStore store;
  StepModel model(&store);
  const QAbstractItemModelTester tester(&model, kFatal);
  QSignalSpy inserted(&model, &QAbstractItemModel::rowsInserted);
  test::forEachMessage(run, [&](const Message& message) {
    store.apply(message);
    model.refresh();
  });
  QCOMPARE(model.rowCount(), 20);
  QVERIFY(inserted.count() > 1);  // grew, not only reset
  QCOMPARE(cell(model, 0, StepModel::kStep), QStringLiteral("20"));
  QCOMPARE(cell(model, 19, StepModel::kStep), QStringLiteral("1"));
  QCOMPARE(cell(model, 0, StepModel::kBatch), QStringLiteral("16"));
  QCOMPARE(cell(model, 0, StepModel::kSequence), QStringLiteral("64"));
  QCOMPARE(cell(model, 1, StepModel::kLoss), QStringLiteral("not read"));
  QVERIFY(cell(model, 0, StepModel::kLoss).toDouble() > 0);  // step 20 is one of every 5
  QCOMPARE(model.recordOf(0), std::size_t{19});
  QCOMPARE(model.rowOf(19), 0);
  QCOMPARE(model.rowOf(20), -1);
}

void TestModels::stepsResetForAnotherRun() {
  LiveStore store;
  test::feed(test::makeSampleRun({.seed = 1, .steps = 12}), store);
  StepModel model(&store);
  const QAbstractItemModelTester tester(&model, kFatal);
  QCOMPARE(model.rowCount(), 12);
  store.clear();
  model.refresh();
  QCOMPARE(model.rowCount(), 0);
  test::feed(test::makeSampleRun({.seed = 2, .steps = 5}), store);
  model.refresh();
  QCOMPARE(model.rowCount(), 5);
}

void TestModels::nowFillsAsTheRunGoesOn() {
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
  QVERIFY(value("Peak of last step").endsWith("exact"));
  QVERIFY(value("Step time p50").endsWith(" ms"));
  QVERIFY(value("Loss at step 60").toDouble() > 0);
  QVERIFY(value("Held-out accuracy").endsWith(" %"));
  QCOMPARE(value("GPU utilization"), QStringLiteral("no such row"));
  const int all = model.rowCount();
  model.setShort(true);
  QVERIFY(model.rowCount() < all);
  QVERIFY(value("Driver allocated").endsWith("iB"));
}

void TestModels::nowShowsTheGpuWhereItIsKnown() {
  LiveStore store;
  test::feed(test::makeSampleRun({.gpuPercent = 62.4f}), store);
  NowModel model(&store);
  const QAbstractItemModelTester tester(&model, kFatal);
  const QModelIndexList found =
      model.match(model.index(0, NowModel::kName), Qt::DisplayRole, "GPU utilization");
  QCOMPARE(found.size(), 1);
  QCOMPARE(cell(model, found[0].row(), NowModel::kValue), QStringLiteral("62 %"));
}

void TestModels::nowShowsASystemUnderPressure() {
  LiveStore store;
  NowModel model(&store);
  const QAbstractItemModelTester tester(&model, kFatal);
  const auto row = [&](const char* name) {
    model.refresh();
    const auto found = model.match(model.index(0, NowModel::kName), Qt::DisplayRole, name);
    return found.isEmpty() ? QString() : cell(model, found[0].row(), NowModel::kValue);
  };
  const auto sample = [&store](std::int64_t timeNs, std::int64_t swap, events::Pressure pressure) {
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

void TestModels::logKeepsMarkersAndIsBounded() {
  LiveStore store;
  test::feed(test::makeSampleRun(), store);
  LogModel log;
  const QAbstractItemModelTester tester(&log, kFatal);
  log.append(QStringLiteral("a line"), LogModel::Kind::kPrinted);
  log.refresh(store);
  const int lines = log.rowCount();
  QCOMPARE(lines, 1 + static_cast<int>(store.markers().size()));
  QVERIFY(cell(log, 1, 0).contains(QStringLiteral("step 30: batch 16 → 32")));
  QCOMPARE(log.index(1).data(LogModel::kKindRole).toInt(), int(LogModel::Kind::kMarker));
  log.refresh(store);
  QCOMPARE(log.rowCount(), lines);  // each marker once
  for (int i = 0; i < LogModel::kMostLines; ++i) {
    log.append(QString::number(i), LogModel::Kind::kPrinted);
  }
  QCOMPARE(log.rowCount(), LogModel::kMostLines);
  QCOMPARE(cell(log, 0, 0), QStringLiteral("0"));
}

QTEST_GUILESS_MAIN(TestModels)
#include "tst_models.moc"

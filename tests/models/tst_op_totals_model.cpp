#include "analysis/run_summary.h"
#include "model_test.h"
#include "models/op_totals_model.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using analysis::LiveStore;
using namespace highwater::test;

namespace {

double stepsMs(const LiveStore& store) {
  double ms = 0;
  for (const auto& step : store.steps().records) {
    ms += static_cast<double>(step.duration_ns()) / 1e6;
  }
  return ms;
}

}  // namespace

class TestOpTotalsModel : public QObject {
  Q_OBJECT

 private slots:
  void showsWhatWasCounted() {
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
    QCOMPARE(syncs.columnCount(), fallbacks.columnCount() - 1);  // no bytes
    const int nonzero =
        syncs.rowOf(QStringLiteral("aten::nonzero"), QStringLiteral("backward, encoder.layers.1"),
                    events::SyncKind::Nonzero);
    const int copy = syncs.rowOf(QStringLiteral("aten::_to_copy"), QStringLiteral("device move"),
                                 events::SyncKind::CopyToDevice);
    QCOMPARE(cell(syncs, copy, OpTotalsModel::kOp), QStringLiteral("_to_copy to device"));
    QVERIFY(nonzero >= 0 && copy >= 0);
    QVERIFY(!syncs.index(nonzero, 0).data(OpTotalsModel::kDeliberateRole).toBool());
    QVERIFY(syncs.index(copy, 0).data(OpTotalsModel::kDeliberateRole).toBool());
    QCOMPARE(syncs.headerData(OpTotalsModel::kTotalMs, Qt::Horizontal).toString(),
             QStringLiteral("Wait ms"));
  }

  void keepsRowsWhileTheOpsStayTheSame() {
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
};

HIGHWATER_TEST(TestOpTotalsModel, QCoreApplication)
#include "tst_op_totals_model.moc"

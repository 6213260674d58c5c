#include "model_test.h"
#include "models/op_times_model.h"
#include "models/op_totals_model.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using analysis::LiveStore;
using namespace highwater::test;

class TestOpTimesModel : public QObject {
  Q_OBJECT

 private slots:
  void groupsByOpAndByModule() {
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
};

HIGHWATER_TEST(TestOpTimesModel, QCoreApplication)
#include "tst_op_times_model.moc"

#include "model_test.h"
#include "models/log_model.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using analysis::LiveStore;
using namespace highwater::test;

class TestLogModel : public QObject {
  Q_OBJECT

 private slots:
  void keepsMarkersAndIsBounded() {
    LiveStore store;
    test::feed(test::makeSampleRun(), store);
    LogModel log;
    std::optional<QAbstractItemModelTester> tester(std::in_place, &log, kFatal);
    log.append(QStringLiteral("a line"), LogModel::Kind::kPrinted);
    log.refresh(store);
    const int lines = log.rowCount();
    QCOMPARE(lines, 1 + static_cast<int>(store.markers().size()));
    QVERIFY(cell(log, 1, 0).contains(QStringLiteral("step 30: batch 16 → 32")));
    QCOMPARE(log.index(1).data(LogModel::kKindRole).toInt(), int(LogModel::Kind::kMarker));
    log.refresh(store);
    QCOMPARE(log.rowCount(), lines);  // each marker once
    // The tester walks over all rows at each change, so it is there around the bound only.
    tester.reset();
    for (int i = 0; i < LogModel::kMostLines; ++i) {
      if (i == LogModel::kMostLines - 2 * lines) tester.emplace(&log, kFatal);
      log.append(QString::number(i), LogModel::Kind::kPrinted);
    }
    QCOMPARE(log.rowCount(), LogModel::kMostLines);
    QCOMPARE(cell(log, 0, 0), QStringLiteral("0"));
  }
};

HIGHWATER_TEST(TestLogModel, QCoreApplication)
#include "tst_log_model.moc"

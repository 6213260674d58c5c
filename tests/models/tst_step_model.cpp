#include "model_test.h"
#include "models/sorted_rows.h"
#include "models/step_model.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using analysis::LiveStore;
using namespace highwater::test;

class TestStepModel : public QObject {
  Q_OBJECT

 private slots:
  void growsWithTheNewestFirst() {
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

  void sortsALossThatIsNaN() {
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

  void showsTheWholeStepsOfARange() {
    LiveStore store;
    test::feed(test::makeSampleRun({.steps = 20}), store);
    StepModel model(&store);
    const QAbstractItemModelTester tester(&model, kFatal);
    const auto& steps = store.steps().records;
    // Cuts step 5 and step 12.
    model.setRange(analysis::TimeRange{steps[4].begin_ns() + 1, steps[11].begin_ns() + 1});
    QCOMPARE(model.rowCount(), 6);
    QCOMPARE(cell(model, 0, StepModel::kStep), QStringLiteral("11"));
    QCOMPARE(cell(model, 5, StepModel::kStep), QStringLiteral("6"));
    QCOMPARE(model.recordOf(0), std::size_t{10});
    QCOMPARE(model.rowOf(10), 0);
    QCOMPARE(model.rowOf(11), -1);
    QCOMPARE(model.rowOf(4), -1);
    model.setRange(analysis::TimeRange{1, 2});
    QCOMPARE(model.rowCount(), 0);
    model.setRange(std::nullopt);
    QCOMPARE(model.rowCount(), 20);
  }

  void resetsForAnotherRun() {
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
};

HIGHWATER_TEST(TestStepModel, QCoreApplication)
#include "tst_step_model.moc"

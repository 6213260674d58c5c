#include "model_test.h"
#include "models/host_time_model.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using namespace highwater::test;
using analysis::Activity;
using analysis::HostTimeRow;

namespace {

HostTimeRow rowOf(Activity activity, std::string line, std::int64_t ms) {
  HostTimeRow row;
  row.part = {analysis::Region::Step, events::Phase::Forward};
  row.activity = activity;
  row.site = {.line = line, .function = "main", .library = "", .path = "/me/train.py"};
  row.site.number = static_cast<std::uint32_t>(std::stoul(line.substr(line.find(':') + 1)));
  row.ns = row.lowNs = row.highNs = ms * 1'000'000;
  return row;
}

}  // namespace

class TestHostTimeModel : public QObject {
  Q_OBJECT

 private slots:
  void saysWhatIsMeasuredAndWhatIsEstimated() {
    const analysis::LiveStore store;
    HostTimeModel model(&store);
    const QAbstractItemModelTester tester(&model, kFatal);
    HostTimeRow work = rowOf(Activity::Work, "train.py:9", 60);
    work.site.text = "rows = augment(rows)";
    work.samples = 12;
    work.lowNs = 40'000'000;
    work.highNs = 75'000'000;
    HostTimeRow wait = rowOf(Activity::Wait, "train.py:15", 20);
    wait.site.library = "torch/_tensor.py:1030 Tensor.item";
    wait.count = 3;
    wait.id = 7;
    model.refresh({work, wait}, 0);

    QCOMPARE(cell(model, 0, HostTimeModel::kActivity), QString("works"));
    QCOMPARE(cell(model, 0, HostTimeModel::kLine), QString("train.py:9, rows = augment(rows)"));
    QCOMPARE(cell(model, 0, HostTimeModel::kPart), QString("forward"));
    QCOMPARE(cell(model, 0, HostTimeModel::kMs), QString("\u2248 60.0"));
    QCOMPARE(cell(model, 0, HostTimeModel::kShare), QString("75 %"));
    QCOMPARE(cell(model, 0, HostTimeModel::kCount), QString("12"));
    QCOMPARE(model.index(0, HostTimeModel::kMs).data(Qt::ToolTipRole).toString(),
             QString("Estimated from 12 samples: 40.0 to 75.0 ms, with 95 % certainty"));
    QCOMPARE(model.index(0, HostTimeModel::kMs).data(TableModel::kExportRole).toDouble(), 60.0);

    QCOMPARE(cell(model, 1, HostTimeModel::kActivity), QString("waits"));
    QCOMPARE(cell(model, 1, HostTimeModel::kLine),
             QString("train.py:15, torch/_tensor.py:1030 Tensor.item"));
    QCOMPARE(cell(model, 1, HostTimeModel::kMs), QString("20.0"));
    QCOMPARE(cell(model, 1, HostTimeModel::kCount), QString("3"));

    const auto head = [&] {
      return model.headerData(HostTimeModel::kMs, Qt::Horizontal).toString();
    };
    QCOMPARE(head(), QString("Time ms"));
    model.refresh({work, wait}, 8);
    QCOMPARE(head(), QString("ms a step"));
    QCOMPARE(cell(model, 0, HostTimeModel::kMs), QString("\u2248 7.50"));
    QCOMPARE(cell(model, 0, HostTimeModel::kShare), QString("75 %"));
    QCOMPARE(model.index(1, HostTimeModel::kLine).data(TableModel::kSiteRole).toUInt(), 7U);
  }

  void aRowKeepsItsPlace() {
    const analysis::LiveStore store;
    HostTimeModel model(&store);
    const QAbstractItemModelTester tester(&model, kFatal);
    model.refresh(
        {rowOf(Activity::Work, "train.py:9", 60), rowOf(Activity::Wait, "train.py:9", 20)}, 2);
    const QPersistentModelIndex wait = model.index(1, HostTimeModel::kLine);
    model.refresh(
        {rowOf(Activity::Wait, "train.py:9", 90), rowOf(Activity::Work, "train.py:12", 80),
         rowOf(Activity::Work, "train.py:9", 70)},
        2);
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(wait.sibling(wait.row(), HostTimeModel::kMs).data().toString(), QString("45.0"));
    model.refresh({}, 2);
    QCOMPARE(model.rowCount(), 0);
  }

  void whatHasNoLineSaysWhy() {
    const analysis::LiveStore store;
    HostTimeModel model(&store);
    HostTimeRow work, wait;
    work.ns = wait.ns = 1;
    wait.activity = Activity::Wait;
    wait.part.phase = events::Phase::Backward;
    model.refresh({work, wait}, 0);
    const auto tip = [&](int row) {
      return model.index(row, HostTimeModel::kLine).data(Qt::ToolTipRole).toString();
    };
    QCOMPARE(cell(model, 0, HostTimeModel::kLine), kNoValue);
    QVERIFY(tip(0).contains("sample") && tip(1).contains("backward"));
  }
};

HIGHWATER_TEST(TestHostTimeModel, QCoreApplication)
#include "tst_host_time_model.moc"

// Ops in the timeline: lanes, colours, and picking.
#include <QApplication>
#include <QTest>

#include "analysis/op_summary.h"
#include "analysis/op_times.h"
#include "models/op_totals_model.h"
#include "support/pane_bench.h"
#include "support/test_program.h"
#include "views/lanes/event_text.h"
#include "views/panels/event_panel.h"

using namespace highwater;
using namespace highwater::views;
using analysis::OpColumns;

namespace {

events::OpSpan op(std::int64_t beginNs, std::int64_t durationNs, ThreadId thread,
                  std::uint16_t depth, NameId name = test::kMm) {
  return {beginNs, durationNs, -1, 0, 1, name, kNoId, kNoId, thread, depth, events::Phase::Forward,
          0};
}

struct OpLanesBench : test::TimelineBench {
  explicit OpLanesBench(const test::SampleRunOptions& options) { feed(options); }
  [[nodiscard]] std::vector<LaneRows::Row> opRows() const {
    std::vector<LaneRows::Row> rows;
    for (const LaneRows::Row& row : pane.rows().rows) {
      if (row.lane == Lane::kOps) rows.push_back(row);
    }
    return rows;
  }
  /// The middle of an op in its row.
  [[nodiscard]] QPoint placeOf(const events::OpSpan& it, const LaneRows::Row& row) const {
    const double x = pane.scale().pixelAt(it.begin_ns() + it.duration_ns() / 2);
    return {static_cast<int>(x), static_cast<int>(row.top + row.height / 2)};
  }
  void zoomToStep(std::size_t index) { axis.zoomTo(step(index)); }
};

int countColor(const QImage& image, const LaneRows::Row& row, const QColor& color) {
  int count = 0;
  const int y = static_cast<int>(row.top + 2);
  for (int x = 0; x < image.width(); ++x) {
    count += image.pixelColor(x, y) == color;
  }
  return count;
}

const QString kLongName = QStringLiteral("pt_autograd_device_thread_0");
const test::SampleRunOptions kOps{.steps = 30, .doubleBatchAtStep = 0, .opsFromStep = 5};

}  // namespace

class TestOpLanes : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QApplication::setPalette(Theme::dark().palette()); }

  void rowsGoRoundTheThreads() {
    OpColumns ops;
    for (int i = 0; i < 4; ++i) {
      for (std::uint16_t depth = 0; depth < 5; ++depth) ops.add(op(i * 100, 50, 3, depth), 0);
      ops.add(op(i * 100, 50, 1, 0), 0);
    }
    const auto lanes = opLanes(ops, 4);
    QCOMPARE(lanes.size(), std::size_t{4});
    // The thread with more ops first; it also gets the rows that the other cannot fill.
    QCOMPARE(lanes[0].key, (OpColumns::LaneKey{3, 0}));
    QCOMPARE(lanes[2].key, (OpColumns::LaneKey{3, 2}));
    QCOMPARE(lanes[2].hiddenBelow, 2);
    QCOMPARE(lanes[3].key, (OpColumns::LaneKey{1, 0}));
    QCOMPARE(lanes[3].hiddenBelow, 0);
    QCOMPARE(opLanes(ops, 1).size(), std::size_t{1});
    QCOMPARE(opLanes(ops, 99).size(), std::size_t{6});
    QVERIFY(opLanes({}, 9).empty());
  }

  void aLabelThatIsCutIsWholeInItsTip() {
    OpLanesBench bench(kOps);
    bench.store.apply(Definitions{{}, {}, {}, {{test::kTrainingThread, kLongName.toStdString()}}});
    bench.pane.setMostOpRows(2);
    const auto tip = [&bench](const LaneRows::Row& row) {
      return bench.pane.gutterTipAt({20, static_cast<int>(row.top + 3)});
    };
    const auto rows = bench.opRows();
    QVERIFY2(tip(rows[0]).contains(kLongName), qPrintable(tip(rows[0])));
    QVERIFY2(tip(rows[0]).contains("1 deeper not shown"), qPrintable(tip(rows[0])));
    QVERIFY(tip(bench.pane.rows().of(Lane::kSyncPoints)).contains("waits for the device"));
    QVERIFY(bench.pane.gutterTipAt({20, 2}).isEmpty());
    // A label picks nothing.
    QVERIFY(!bench.pane.eventAt({20, static_cast<int>(rows[0].top + 3)}));
    QVERIFY(!bench.render().isNull());
  }

  void lanesComeWithTheOps() {
    OpLanesBench without({.steps = 10});
    QVERIFY(without.opRows().empty());
    const int height = without.pane.height();
    OpLanesBench with(kOps);
    QCOMPARE(with.opRows().size(), std::size_t{3});  // two depths, and the thread of backward
    QVERIFY(with.pane.height() > height);
    QCOMPARE(with.pane.heightWithoutOps(), height);
    with.pane.setMostOpRows(1);
    QCOMPARE(with.opRows().size(), std::size_t{1});
  }

  void lostTimeOutshinesTheRest() {
    OpLanesBench bench(kOps);
    bench.zoomToStep(7);  // step 8: a fallback in forward
    const QImage image = bench.render();
    const Theme& theme = Theme::dark();
    const auto rows = bench.opRows();
    QVERIFY(countColor(image, rows[1], theme.vermillion) > 20);
    QCOMPARE(countColor(image, rows[0], theme.vermillion), 0);
    // Other ops are dimmed.
    QCOMPARE(countColor(image, rows[0], theme.blue), 0);
    QVERIFY(countColor(image, rows[0], theme.plot) < image.width() / 2);
  }

  void clickTellsAllAboutAnOp() {
    OpLanesBench bench(kOps);
    EventPanel panel(&bench.store, &bench.focus);
    bench.zoomToStep(10);
    (void)bench.render();
    const auto& lane = bench.store.ops().lanes.at({test::kTrainingThread, 0});
    const auto at = lane.at(bench.axis.visible().beginNs + bench.axis.visibleNs() / 2, 0);
    QVERIFY(at);
    const events::OpSpan& it = *bench.store.ops().at(lane[*at].payload);
    QTest::mouseClick(&bench.pane, Qt::LeftButton, {}, bench.placeOf(it, bench.opRows()[0]));
    QCOMPARE(bench.focus.picked(), (EventRef{Lane::kOps, lane[*at].payload}));
    QStringList names;
    for (const EventFact& fact : panel.facts()) names << fact.name;
    for (const char* name : {"Op", "Host time", "Self time", "Step", "Phase", "Module", "Shapes",
                             "Memory after", "Allocated", "Thread"}) {
      QVERIFY2(names.contains(QLatin1String(name)), name);
    }
    const EventText text = eventText(bench.store, *bench.focus.picked());
    QCOMPARE(text.name, QString("linear"));
    QVERIFY(text.joined().contains("encoder.layers.1"));
    QVERIFY(text.joined().contains("[16, 64] float32"));
    QVERIFY(text.joined().contains("180.0 MiB after"));
  }

  void neighboursAreCallsOfTheSameOp() {
    OpLanesBench bench(kOps);
    bench.focus.pickOp({Lane::kOps, QStringLiteral("aten::linear"), {}});
    QVERIFY(bench.focus.next());
    const std::uint32_t first = bench.focus.picked()->index;
    for (int i = 0; i < 5; ++i) QVERIFY(bench.focus.next());
    QCOMPARE(opOf(bench.store, *bench.focus.picked())->op, QString("aten::linear"));
    for (int i = 0; i < 5; ++i) QVERIFY(bench.focus.previous());
    QCOMPARE(bench.focus.picked()->index, first);
    QVERIFY(!bench.focus.previous());  // it is the first one
    QCOMPARE(bench.focus.picked()->index, first);
  }

  void anOpOfAnotherThreadIsFoundFromTheTable() {
    OpLanesBench bench({.steps = 3});
    test::OwnedBatch batch;
    batch.ops = {op(5'000'000'000, 1000, 7, 0), op(5'000'010'000, 1000, 8, 0, test::kCopy)};
    bench.store.apply(Message(batch.view()));
    bench.axis.setCursor(4'000'000'000);
    bench.focus.pickOp({Lane::kOps, QStringLiteral("aten::_to_copy"), {}});
    QVERIFY(bench.focus.next());
    QCOMPARE(bench.focus.picked(), (EventRef{Lane::kOps, 1}));
  }

  void nodesOfBackwardGoByTheirOwnName() {
    QCOMPARE(opForms("autograd::engine::evaluate_function: MmBackward0").back(),
             QString("MmBackward0"));
    QCOMPARE(models::shortOpName("autograd::engine::evaluate_function: MmBackward0"),
             QString("MmBackward0"));
    QCOMPARE(opForms("aten::mm"), (QStringList{"aten::mm", "mm"}));
    QCOMPARE(opForms("myops::foo"), QStringList{"myops::foo"});
  }

  void manyOpsAreDrawnAtEachZoom() {
    OpLanesBench bench({.steps = 3});
    test::OwnedBatch batch;
    std::int64_t ns = 1'000'000'000;
    for (int i = 0; i < 20'000; ++i, ns += 100'000) {
      for (const std::uint16_t depth : {3, 2, 1, 0}) {
        batch.ops.push_back(op(ns + depth * 5000, 90'000 - depth * 10'000, 1, depth));
      }
    }
    batch.completeUpToNs = ns;
    bench.store.apply(Message(batch.view()));
    QCOMPARE(bench.store.ops().records.size(), std::size_t{80'000});
    bench.axis.setExtent({0, ns});
    bench.pane.refresh();
    QCOMPARE(bench.opRows().size(), std::size_t{4});
    QImage last;
    for (const double share : {1.0, 0.1, 1e-3}) {
      const auto wanted = static_cast<std::int64_t>(share * static_cast<double>(ns));
      bench.axis.setVisible({ns / 2, ns / 2 + wanted});
      const QImage image = bench.render();
      QVERIFY(!image.isNull() && image != last);
      last = image;
    }
  }

  void whatIsForgottenIsSaid() {
    OpLanesBench bench({.steps = 3});
    bench.store.setMemoryBudget(1);  // the fewest ops
    std::int64_t ns = 1'000'000'000;
    const std::int64_t firstNs = ns;
    for (std::size_t taken = 0; taken < 2 * OpColumns::kFewestOps; taken += 20'000) {
      test::OwnedBatch batch;
      for (int i = 0; i < 20'000; ++i, ns += 20'000) batch.ops.push_back(op(ns, 15'000, 1, 0));
      batch.completeUpToNs = ns;
      bench.store.apply(Message(batch.view()));
    }
    const OpColumns& ops = bench.store.ops();
    QVERIFY(ops.records.size() <= OpColumns::kFewestOps && ops.firstRow > 0);
    QCOMPARE(ops.forgottenUpToNs, firstNs + 20'000 * std::int64_t(ops.firstRow - 1) + 15'000);
    bench.focus.pick({Lane::kOps, 0});
    QVERIFY(!bench.focus.picked());
    // Totals of ops report it too.
    QCOMPARE(analysis::summarizeOps(bench.store).forgotten, std::uint64_t{ops.firstRow});
    QVERIFY(analysis::RunningOpTimes(&bench.store).update().partial);
    QVERIFY(analysis::opTimesIn(bench.store, {0, ns}).partial);
    QVERIFY(!analysis::opTimesIn(bench.store, {ops.forgottenUpToNs, ns}).partial);
    bench.axis.setExtent({0, ns});
    bench.axis.setVisible({ops.forgottenUpToNs - 500'000'000, ops.forgottenUpToNs + 500'000'000});
    bench.pane.refresh();
    const QImage image = bench.render();
    const auto row = bench.opRows()[0];
    const int y = static_cast<int>(row.top + row.height / 2);
    const QRgb ground = Theme::dark().plot.rgb();
    int left = 0, right = 0;  // hatched where ops are missing, in the phase's colour after that
    for (int x = 300; x < 400; ++x) left += image.pixel(x, y) != ground;
    for (int x = 700; x < 800; ++x) right += image.pixel(x, y) != ground;
    QVERIFY2(left > 0 && left < 80, qPrintable(QString::number(left)));
    QCOMPARE(right, 100);
  }
};

HIGHWATER_TEST(TestOpLanes, QApplication)
#include "tst_op_lanes.moc"

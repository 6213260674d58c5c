#include <QSignalSpy>
#include <QTest>

#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panes/event_focus.h"

using namespace highwater;
using namespace highwater::views;

class TestEventFocus : public QObject {
  Q_OBJECT

 private:
  analysis::LiveStore store_;

 private slots:
  void initTestCase() { test::feed(test::makeSampleRun({.steps = 60}), store_); }

  void ignoresAnEventThatDoesNotExist() {
    TimeAxis axis;
    EventFocus focus(&store_, &axis);
    QSignalSpy changed(&focus, &EventFocus::changed);
    const auto past = static_cast<std::uint32_t>(store_.fallbacks().size());
    for (const EventRef& event : {EventRef{Lane::kFallbacks, past}, EventRef{Lane::kOps, 0},
                                  EventRef{Lane::kMarkers, 1'000'000}}) {
      focus.pick(event);
    }
    QVERIFY(!focus.picked() && changed.isEmpty());
  }

  void picksTheOpOfAnEvent() {
    TimeAxis axis;
    EventFocus focus(&store_, &axis);
    QSignalSpy changed(&focus, &EventFocus::changed);
    focus.pick({Lane::kFallbacks, 0});
    QCOMPARE(focus.op()->op, QString("aten::embedding_renorm_"));
    QVERIFY2(focus.op()->where.startsWith("forward"), qPrintable(focus.op()->where));
    focus.pick({Lane::kSteps, 3});
    QVERIFY(!focus.op());
    QCOMPARE(changed.count(), 2);
    focus.clear();
    focus.clear();
    QCOMPARE(changed.count(), 3);
  }

  void anotherOpClearsThePickedEvent() {
    TimeAxis axis;
    EventFocus focus(&store_, &axis);
    focus.pick({Lane::kFallbacks, 0});
    const OpRef op = *focus.op();
    focus.pickOp(op);
    QVERIFY(focus.picked());
    focus.pickOp({Lane::kSyncPoints, QStringLiteral("aten::nonzero"), QStringLiteral("backward")});
    QVERIFY(!focus.picked());
  }

  void startsWithFallbacksAtTheCursor() {
    TimeAxis axis;
    axis.setExtent({0, store_.completeUpToNs()});
    EventFocus focus(&store_, &axis);
    axis.setCursor(store_.fallbacks()[2].begin_ns());
    QVERIFY(focus.next());
    QCOMPARE(focus.picked(), (EventRef{Lane::kFallbacks, 2}));
    QVERIFY(focus.previous());
    QCOMPARE(focus.picked(), (EventRef{Lane::kFallbacks, 1}));
  }

  void endsAtTheLastEventOfAnOp() {
    TimeAxis axis;
    axis.setExtent({0, store_.completeUpToNs()});
    EventFocus focus(&store_, &axis);
    focus.pick({Lane::kFallbacks, 0});
    const OpRef op = *focus.op();
    std::size_t seen = 1;
    while (focus.next()) {
      QCOMPARE(*focus.op(), op);
      const TimeRange range = timeRangeOf(store_, *focus.picked());
      QVERIFY(range.beginNs >= axis.visible().beginNs && range.endNs <= axis.visible().endNs);
      ++seen;
    }
    QCOMPARE(seen, store_.fallbacks().size());  // the sample run has one op that falls back
    QVERIFY(!focus.next());
  }

  void stepsAndMarkersHaveNeighbours() {
    TimeAxis axis;
    EventFocus focus(&store_, &axis);
    focus.pick({Lane::kSteps, 5});
    QVERIFY(focus.previous());
    QCOMPARE(focus.picked(), (EventRef{Lane::kSteps, 4}));
    focus.pick({Lane::kMarkers, 0});
    QVERIFY(!focus.previous());
    QVERIFY(focus.next());
    QCOMPARE(focus.picked(), (EventRef{Lane::kMarkers, 1}));
  }
};

HIGHWATER_TEST(TestEventFocus, QCoreApplication)
#include "tst_event_focus.moc"

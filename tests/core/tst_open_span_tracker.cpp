#include "core/open_span_tracker.h"
#include "support/test_program.h"

using namespace highwater;

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr ThreadId kTraining = 1, kOther = 2;

events::OpenSpan openAt(std::int64_t beginMs, std::int64_t seenMs, NameId name,
                        std::uint32_t step = 3, ThreadId thread = kTraining,
                        std::uint16_t depth = 0) {
  return {beginMs * kMs, seenMs * kMs, step, name, thread, depth, events::Phase::Forward};
}

}  // namespace

class TestOpenSpanTracker : public QObject {
  Q_OBJECT

 private:
  OpenSpanTracker tracker_;

  void report(const std::vector<events::OpenSpan>& spans) {
    EventBatch batch;
    batch.openSpans = spans;
    tracker_.add(batch);
  }
  void heartbeat(std::int64_t timeMs, std::uint32_t step) {
    const events::Heartbeat beat(timeMs * kMs, step, 0);
    EventBatch batch;
    batch.heartbeats = {&beat, 1};
    tracker_.add(batch);
  }
  void stepDone(std::uint32_t step, std::int64_t beginMs, std::int64_t ms) {
    const events::StepRecord record(beginMs * kMs, ms * kMs, 1, 1, -1, step, 16, 64, 1024, 0, 0, 0);
    EventBatch batch;
    batch.steps = {&record, 1};
    tracker_.add(batch);
  }
  void completeUpTo(std::int64_t timeMs) {
    EventBatch batch;
    batch.completeUpToNs = timeMs * kMs;
    tracker_.add(batch);
  }
  [[nodiscard]] NameId name() const {
    const auto open = tracker_.innermost();
    return open ? open->span.name() : kNoId;
  }
  [[nodiscard]] std::int64_t stalledMs() const {
    return tracker_.innermost()->stalledFor.count() / kMs;
  }

 private slots:
  void init() { tracker_ = {}; }

  void isTheSpanThatBeganLast() {
    QVERIFY(!tracker_.innermost());
    report({openAt(600, 1000, 10), openAt(700, 1000, 12, 3, kOther, 0),
            openAt(650, 1000, 11, 3, kTraining, 1)});
    QCOMPARE(name(), 12u);
    report({openAt(600, 1200, 10), openAt(650, 1200, 11, 3, kTraining, 1)});
    QCOMPARE(name(), 11u);  // the newer report counts
  }

  void isTheDeeperOneOfTwoThatBeganTogether() {
    report({openAt(600, 1000, 11, 3, kTraining, 1), openAt(600, 1000, 10)});
    QCOMPARE(name(), 11u);
  }

  void closesWithItsStep() {
    report({openAt(800, 990, 10)});
    stepDone(3, 700, 400);
    QVERIFY(!tracker_.innermost());
  }

  void closesWhenALaterStepRuns() {
    report({openAt(800, 990, 10)});
    heartbeat(1190, 3);
    QCOMPARE(name(), 10u);
    heartbeat(1390, 4);
    QVERIFY(!tracker_.innermost());
  }

  void staysOpenWhenOlderNewsArrives() {
    report({openAt(800, 990, 10, 4)});
    stepDone(3, 300, 400);
    heartbeat(900, 3);
    QCOMPARE(name(), 10u);
  }

  void closesWhenHeartbeatsGoOnWithoutIt() {
    report({openAt(800, 1000, 10)});
    heartbeat(1500, 3);
    QCOMPARE(name(), 10u);
    heartbeat(1501, 3);
    QVERIFY(!tracker_.innermost());
  }

  void closesWhenTheStreamIsCompleteWithoutIt() {
    report({openAt(800, 1000, 10)});
    completeUpTo(1501);
    QVERIFY(!tracker_.innermost());
  }

  void canBeOpenBetweenSteps() {
    stepDone(3, 100, 500);
    report({openAt(700, 1000, 10, 3)});  // an evaluation: the worker still counts step 3
    QCOMPARE(name(), 10u);
    QCOMPARE(tracker_.innermost()->span.step(), 0u);
  }

  void saysHowLongTrainingStandsStill() {
    report({openAt(600, 1000, 10), openAt(700, 1000, 11, 3, kTraining, 1)});
    QCOMPARE(stalledMs(), std::int64_t{300});
    // A span of another thread stays open while steps end: training does not stand still.
    stepDone(3, 700, 400);
    report({openAt(600, 1200, 12, 4, kOther)});
    QCOMPARE(stalledMs(), std::int64_t{100});
  }
};

HIGHWATER_TEST(TestOpenSpanTracker, QCoreApplication)
#include "tst_open_span_tracker.moc"

#include "analysis/device/step_queue.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using analysis::LiveStore;
using analysis::QueueSummary;
using analysis::summarizeQueue;

namespace {

/// A wait for a copy to the device.
events::SyncPoint copyAt(std::uint32_t step, std::int64_t beginMs, std::int64_t ms,
                         ThreadId thread = kTrainingThread) {
  return syncAt(step, events::SyncKind::CopyToDevice, events::Phase::DeviceMove, beginMs, ms, true,
                thread);
}

QueueSummary summaryOf(const OwnedBatch& batch) {
  LiveStore store;
  store.apply(batch.view());
  return summarizeQueue(store);
}

}  // namespace

class TestStepQueue : public QObject {
  Q_OBJECT

 private slots:
  void waitsAndHostTimeMakeTheStep() {
    OwnedBatch batch;
    batch.steps = {stepAt(1, 100, 50), stepAt(2, 160, 40)};
    batch.syncPoints = {copyAt(1, 101, 30), copyAt(1, 140, 5), copyAt(2, 161, 20)};
    batch.deviceSpans.emplace_back(182 * kMs, 44 * kMs, 1);
    const QueueSummary summary = summaryOf(batch);
    QCOMPARE(summary.steps.size(), 2u);
    QCOMPARE(summary.steps[0].step, 1u);
    QCOMPARE(summary.steps[0].waitMs, 35.0);
    QCOMPARE(summary.steps[0].enqueueMs, 15.0);
    QCOMPARE(*summary.steps[0].deviceSpanMs, 44.0);
    QCOMPARE(summary.steps[1].waitMs, 20.0);
    QVERIFY(!summary.steps[1].deviceSpanMs);
  }

  void overlappingWaitsCountOnce() {
    OwnedBatch batch;
    batch.steps = {stepAt(1, 0, 100)};
    // A nested wait, an overlapping one, waits on two threads, and one without length.
    batch.syncPoints = {copyAt(1, 10, 40), copyAt(1, 20, 10, 2), copyAt(1, 45, 10, 2),
                        copyAt(1, 80, 0)};
    QCOMPARE(summaryOf(batch).steps[0].waitMs, 45.0);
  }

  void aFallbackCountsItsWaitOnly() {
    OwnedBatch batch;
    batch.steps = {stepAt(1, 0, 100)};
    batch.fallbacks = {fallbackAt(1, events::Phase::Forward, 10, 30, 12)};
    batch.syncPoints = {copyAt(1, 12, 5)};  // the wait of the fallback, reported again
    QCOMPARE(summaryOf(batch).steps[0].waitMs, 12.0);
    QCOMPARE(summaryOf(batch).steps[0].enqueueMs, 88.0);
  }

  void waitsOutsideOfStepsAreNotTheirs() {
    OwnedBatch batch;
    batch.steps = {stepAt(1, 100, 50)};
    // Waits of an evaluation have the number of the step before it.
    batch.syncPoints = {copyAt(1, 90, 20), copyAt(1, 145, 30), copyAt(1, 200, 70)};
    QCOMPARE(summaryOf(batch).steps[0].waitMs, 15.0);
  }

  void percentilesAreOfTheKnownSpans() {
    OwnedBatch batch;
    for (std::uint32_t i = 1; i <= 20; ++i) {
      batch.steps.push_back(stepAt(i, i * 100, 50));
      batch.syncPoints.push_back(copyAt(i, i * 100, i));
      if (i % 2 == 0) batch.deviceSpans.emplace_back((i * 100 + 60) * kMs, i * kMs, i);
    }
    const QueueSummary summary = summaryOf(batch);
    QCOMPARE(summary.waitMs->p50, 10.0);
    QCOMPARE(summary.waitMs->p95, 19.0);
    QCOMPARE(summary.enqueueMs->p50, 39.0);
    QCOMPARE(summary.deviceSpanMs->p50, 10.0);
    QCOMPARE(summary.deviceSpanMs->p95, 20.0);
    QVERIFY(!summaryOf(OwnedBatch()).waitMs);
  }

  void theCpuHasNoQueue() {
    LiveStore store;
    Hello hello;
    hello.device.selected = "cpu";
    store.apply(hello);
    OwnedBatch batch;
    batch.steps = {stepAt(1, 100, 50)};
    store.apply(batch.view());
    QVERIFY(summarizeQueue(store).steps.empty());
    QVERIFY(!summarizeQueue(store).enqueueMs);
  }
};

HIGHWATER_TEST(TestStepQueue, QCoreApplication)
#include "tst_step_queue.moc"

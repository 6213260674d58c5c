#include <cmath>

#include "analysis/run_summary.h"
#include "analysis/whole_steps.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::analysis;

namespace {

/// Steps of random lengths, some of them without any, and random pauses between them.
void addSteps(LiveStore& store, std::uint32_t count, std::mt19937& random) {
  test::OwnedBatch batch;
  std::int64_t ns = 0;
  for (std::uint32_t number = 1; number <= count; ++number) {
    ns += random() % 3;
    const auto length = static_cast<std::int64_t>(random() % 5);
    batch.steps.emplace_back(ns, length, 1, 1, -1, number, 16U, 64U, 1024U, 0.0F,
                             static_cast<std::uint8_t>(0), static_cast<std::uint8_t>(0));
    ns += length;
  }
  store.apply(batch.view());
}

}  // namespace

class TestWholeSteps : public QObject {
  Q_OBJECT

 private slots:
  void asAWalkOverAllStepsFindsThem() {
    std::mt19937 random(5);
    for (const std::uint32_t count : {0U, 1U, 2U, 40U}) {
      LiveStore store;
      addSteps(store, count, random);
      const std::int64_t endNs = 5 * count + 3;
      for (std::int64_t begin = -2; begin <= endNs; ++begin) {
        for (std::int64_t end = begin; end <= endNs; ++end) {
          std::vector<std::uint32_t> walked, found;
          for (const events::StepRecord& step : store.steps().records) {
            const bool whole =
                step.begin_ns() >= begin && step.begin_ns() + step.duration_ns() <= end;
            if (whole) walked.push_back(step.step());
          }
          const StepRows rows = wholeStepsIn(store, {begin, end});
          QVERIFY(rows.first <= rows.last && rows.last <= count);
          QCOMPARE(rows.size(), walked.size());
          for (const events::StepRecord& step : rows.in(store)) found.push_back(step.step());
          QVERIFY(found == walked);
        }
      }
    }
  }

  void aSettledBatchIsThatOfTwoStepsInARow() {
    const auto newestOf = [](const std::vector<std::uint32_t>& batchSizes) {
      std::vector<events::StepRecord> steps;
      for (const std::uint32_t size : batchSizes) {
        steps.emplace_back(0, 1, 1, 1, -1, 1U, size, 64U, 1024U, 0.0F, static_cast<std::uint8_t>(0),
                           static_cast<std::uint8_t>(0));
      }
      return newestOfSettledBatch(steps);
    };
    QCOMPARE(newestOf({16}), 0U);
    QCOMPARE(newestOf({16, 16, 16}), 2U);
    QCOMPARE(newestOf({16, 16, 16, 8}), 2U);
    QCOMPARE(newestOf({16, 16, 8, 16}), 1U);
    QCOMPARE(newestOf({16, 16, 8, 8}), 3U);
    QCOMPARE(newestOf({1, 2, 3, 4}), 3U);
    std::vector<std::uint32_t> longAgo{16, 16};
    for (std::uint32_t size = 1; size <= 64; ++size) longAgo.push_back(100 + size);
    QCOMPARE(newestOf(longAgo), longAgo.size() - 1);
  }

  /// The host queues eight steps in 8 ms, and then waits 20 ms until the device has done them.
  void theWaitAfterTheLastStepBelongsToTheSteps() {
    constexpr std::int64_t kMillisecond = 1'000'000;
    const auto storeOf = [&](const std::function<void(test::OwnedBatch&)>& change, bool ends) {
      test::OwnedBatch batch;
      for (std::uint32_t step = 1; step <= 8; ++step) {
        batch.steps.emplace_back((step - 1) * kMillisecond, kMillisecond, 1, 1, -1, step, 16U, 64U,
                                 1024U, 0.0F, static_cast<std::uint8_t>(0),
                                 static_cast<std::uint8_t>(0));
      }
      batch.syncPoints.emplace_back(9 * kMillisecond, 20 * kMillisecond, 4, 8U, kNoId, kNoId, kNoId,
                                    1, events::SyncKind::ScalarRead, events::Phase::None,
                                    static_cast<std::uint8_t>(0));
      change(batch);
      LiveStore store;
      store.apply(batch.view());
      if (ends) store.apply(RunEnd{});
      return store;
    };
    const auto asItIs = [](test::OwnedBatch&) {};
    const LiveStore store = storeOf(asItIs, true);
    const auto drain = drainAfterSteps(store);
    QVERIFY(drain && drain->beginNs == 9 * kMillisecond && drain->endNs == 29 * kMillisecond);
    const RunSummary summary = summarize(store);
    QVERIFY(summary.rateHasDrain && summary.rateLeavesOutFirst && !summary.rateIsQueued);
    // Without any wait it is how fast the host queues; the CPU has no queue.
    const auto rateIsQueuedOn = [&](const char* device) {
      LiveStore without = storeOf([](test::OwnedBatch& batch) { batch.syncPoints.clear(); }, true);
      Hello hello;
      hello.device.selected = device;
      without.apply(hello);
      return summarize(without).rateIsQueued;
    };
    QVERIFY(rateIsQueuedOn("mps") && !rateIsQueuedOn("cpu"));
    QCOMPARE(summary.tokensPerS, 7 * 1024 / 0.027);
    // Not of a range that ends before, nor while the run may go on.
    QVERIFY(!summarize(store, TimeRange{0, 8 * kMillisecond}).rateHasDrain);
    QVERIFY(!drainAfterSteps(storeOf(asItIs, false)));
    // Where the host has waited in the last steps, or works before the wait, it is for that.
    const auto waits = [&](test::OwnedBatch& batch) {
      batch.syncPoints.emplace_back(6 * kMillisecond, kMillisecond / 2, 4, 7U, kNoId, kNoId, kNoId,
                                    1, events::SyncKind::ScalarRead, events::Phase::None,
                                    static_cast<std::uint8_t>(0));
    };
    QVERIFY(!drainAfterSteps(storeOf(waits, true)));
    const auto evaluates = [&](test::OwnedBatch& batch) {
      batch.namedSpans.emplace_back(8 * kMillisecond, kMillisecond / 2, 8U, 1U, 1, std::uint8_t{0});
    };
    const LiveStore evaluated = storeOf(evaluates, true);
    QVERIFY(!drainAfterSteps(evaluated));
    // Nothing tells what an evaluation has of the wait.
    QVERIFY(!summarize(evaluated).rateHasDrain);
    // A forward after the last step is the begin of a ninth, which has an eighth of the rest at
    // most.
    const auto goesForward = [&](std::int64_t times) {
      return [&, times](test::OwnedBatch& batch) {
        for (std::int64_t i = 0; i < 8; ++i) {
          batch.phases.emplace_back(i * kMillisecond, kMillisecond / 8,
                                    static_cast<std::uint32_t>(i + 1), std::uint16_t{1},
                                    events::Phase::Forward);
        }
        for (std::int64_t i = 0; i < times; ++i) {
          batch.phases.emplace_back(8 * kMillisecond + i * kMillisecond / 4, kMillisecond / 8, 9U,
                                    std::uint16_t{1}, events::Phase::Forward);
        }
      };
    };
    const LiveStore begun = storeOf(goesForward(1), true);
    QVERIFY(drainAfterSteps(begun));
    QCOMPARE(drainedNs(begun, {0, 8}, 1'000'000'000), std::llround(20.0 * kMillisecond * 8 / 9));
    QVERIFY(summarize(begun).rateHasDrain);
    // More of them than a step has are something else.
    QVERIFY(!drainAfterSteps(storeOf(goesForward(2), true)));
  }

  /// Twice the host queues eight steps, and then an evaluation, whose read waits for all of it. By
  /// its sizes that has twice the work of a step.
  void waitsBetweenStepsBelongToTheStepsBefore() {
    constexpr std::int64_t kMillisecond = 1'000'000;
    constexpr NameId kOp = 900;
    test::OwnedBatch batch;
    for (std::uint32_t step = 1; step <= 16; ++step) {
      const std::int64_t begin = (step - 1 + (step > 8 ? 32 : 0)) * kMillisecond;
      batch.steps.emplace_back(begin, kMillisecond, 1, 1, -1, step, 16U, 64U, 1024U, 0.0F,
                               std::uint8_t{0}, std::uint8_t{0});
    }
    const auto addWait = [&](std::int64_t ms, std::int64_t forMs) {
      batch.syncPoints.emplace_back(ms * kMillisecond, forMs * kMillisecond, 4, 8U, kNoId, kNoId,
                                    kNoId, 1, events::SyncKind::ScalarRead, events::Phase::None,
                                    std::uint8_t{0});
    };
    for (const std::int64_t end : {8, 48}) {
      batch.namedSpans.emplace_back(end * kMillisecond, 2 * kMillisecond, 8U, 1U, 1,
                                    std::uint8_t{0});
      addWait(end + 2, 20);
      addWait(end + 23, 1);  // the evaluation's own
    }
    const auto workOf = [](std::uint32_t step, std::uint64_t bytes) {  // step 0: the evaluation's
      return events::OpWork(1, bytes, 0, step, 1, kOp, kNoId, kNoId, kNoId, events::Phase::Forward,
                            0);
    };
    batch.opWork = {workOf(3, 100'000'000)};
    LiveStore store;
    store.apply(batch.view());
    store.apply(RunEnd{});
    const auto all = [&](const LiveStore& of) { return drainedNs(of, {0, 16}, 1'000'000'000); };
    QCOMPARE(all(store), std::int64_t{0});  // the evaluation was not counted
    test::OwnedBatch counted;
    counted.opWork = {workOf(0, 200'000'000)};
    store.apply(counted.view());
    const double eachMs = 20 * 8.0 / 10;
    QVERIFY(std::abs(static_cast<double>(all(store)) / 1e6 - 2 * eachMs) < 0.1);
    const RunSummary summary = summarize(store);
    QVERIFY(summary.rateHasDrain);
    QVERIFY(std::abs(summary.stepMsMean - (15 + 2 * eachMs) / 15) < 0.01);
    // Of a range: the waits for its steps, and as much of each as of those steps.
    QVERIFY(std::abs(static_cast<double>(drainedNs(store, {4, 8}, 1'000'000'000)) / 1e6 -
                     eachMs / 2) < 0.1);
    QCOMPARE(drainedNs(store, {4, 8}, 9 * kMillisecond), std::int64_t{0});
    QCOMPARE(drainedNs(store, {8, 12}, 1'000'000'000), std::int64_t{0});
  }

  void anInvertedRangeHasNone() {
    std::mt19937 random(6);
    LiveStore store;
    addSteps(store, 20, random);
    QVERIFY(wholeStepsIn(store, {30, 10}).empty());
  }
};

HIGHWATER_TEST(TestWholeSteps, QCoreApplication)
#include "tst_whole_steps.moc"

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
    QVERIFY(summary.rateHasDrain && summary.rateLeavesOutFirst);
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
    // Then it has a ninth of the wait, as of the host's time before it.
    QCOMPARE(drainedNs(evaluated, *drain), std::int64_t{17'777'778});
    QCOMPARE(summarize(evaluated).tokensPerS, 7 * 1024 / 0.024777778);
  }

  /// Twice the host queues eight steps, and then an evaluation, whose read waits for all of it.
  void waitsBetweenStepsBelongToTheStepsBefore() {
    constexpr std::int64_t kMillisecond = 1'000'000;
    test::OwnedBatch batch;
    for (std::uint32_t step = 1; step <= 16; ++step) {
      const std::int64_t begin = (step - 1 + (step > 8 ? 32 : 0)) * kMillisecond;
      batch.steps.emplace_back(begin, kMillisecond, 1, 1, -1, step, 16U, 64U, 1024U, 0.0F,
                               std::uint8_t{0}, std::uint8_t{0});
    }
    const auto addWait = [&](std::int64_t ms, std::int64_t forMs, std::uint32_t step) {
      batch.syncPoints.emplace_back(ms * kMillisecond, forMs * kMillisecond, 4, step, kNoId, kNoId,
                                    kNoId, 1, events::SyncKind::ScalarRead, events::Phase::None,
                                    std::uint8_t{0});
    };
    for (const std::int64_t end : {8, 48}) {
      batch.namedSpans.emplace_back(end * kMillisecond, 8 * kMillisecond, 8U, 1U, 1,
                                    std::uint8_t{0});
      addWait(end + 8, 20, 8);
      addWait(end + 30, 1, 8);  // its own
    }
    LiveStore store;
    store.apply(batch.view());
    // The evaluation has half of the host's time.
    QCOMPARE(drainedNs(store, {16 * kMillisecond, 36 * kMillisecond}), 10 * kMillisecond);
    QCOMPARE(drainedNs(store, {38 * kMillisecond, 39 * kMillisecond}), std::int64_t{0});
    QCOMPARE(drainedNsIn(store, {0, 100 * kMillisecond}), 20 * kMillisecond);
    const RunSummary summary = summarize(store);
    QVERIFY(summary.rateHasDrain);
    QCOMPARE(summary.stepMsMean, (15.0 + 20) / 15);
    // One that lies in a step is part of its time.
    QCOMPARE(drainedNs(store, {7 * kMillisecond + 1, 8 * kMillisecond - 1}), std::int64_t{0});
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

#include "analysis/run_summary.h"
#include "core/units.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

/// Step `number` of `ms`, one a second, with its loss where it is positive.
events::StepRecord secondStep(std::uint32_t number, std::int64_t ms, float loss = 0,
                              std::uint64_t peak = 100, bool exact = true) {
  return {number * 1000 * kMs,
          ms * kMs,
          peak,
          peak * 2,
          -1,
          number,
          16,
          64,
          1000,
          loss,
          loss > 0,
          exact};
}

/// All numbers are equal, but for what is summed in another order.
void requireSame(const RunSummary& a, const RunSummary& b) {
  QCOMPARE(a.steps, b.steps);
  QVERIFY(a.firstStep == b.firstStep && a.lastStep == b.lastStep);
  QVERIFY(a.stepMsP50 == b.stepMsP50 && a.stepMsP95 == b.stepMsP95);
  QVERIFY(a.stepsMs == b.stepsMs && a.histogram == b.histogram);
  QVERIFY(a.tokensPerS == b.tokensPerS && a.lossFirst == b.lossFirst);
  QVERIFY(a.lossLast == b.lossLast && a.heldOutAccuracy == b.heldOutAccuracy);
  QVERIFY(a.currentPeakBytes == b.currentPeakBytes && a.driverPeakBytes == b.driverPeakBytes);
  QCOMPARE(a.currentPeakExact, b.currentPeakExact);
  for (std::size_t k = 0; k < a.phaseMs.size(); ++k) {
    QVERIFY(qAbs(a.phaseMs[k] - b.phaseMs[k]) < 1e-6);
  }
  QVERIFY(qAbs(a.fallbackMs - b.fallbackMs) < 1e-6);
  QVERIFY(qAbs(a.unplannedSyncMs - b.unplannedSyncMs) < 1e-6);
  QVERIFY(qAbs(a.plannedSyncMs - b.plannedSyncMs) < 1e-6);
  for (const auto of : {&RunSummary::syncPoints, &RunSummary::fallbacks}) {
    const auto &x = a.*of, &y = b.*of;
    QCOMPARE(x.size(), y.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      QVERIFY(x[k].op == y[k].op && x[k].where == y[k].where && x[k].kind == y[k].kind);
      QVERIFY(x[k].count == y[k].count && x[k].totalNs == y[k].totalNs);
      QVERIFY(x[k].inStepsNs == y[k].inStepsNs && x[k].bytes == y[k].bytes);
      QVERIFY(x[k].deliberate == y[k].deliberate);
      QVERIFY(x[k].unplannedCount == y[k].unplannedCount);
      QCOMPARE(x[k].unplannedNs, y[k].unplannedNs);
    }
  }
}

}  // namespace

class TestRunSummary : public QObject {
  Q_OBJECT

 private slots:
  void nothing() {
    const RunSummary summary = summarize(LiveStore());
    QCOMPARE(summary.steps, 0u);
    QCOMPARE(summary.stepMsP50, 0.0);
    QCOMPARE(summary.tokensPerS, 0.0);
    QVERIFY(!summary.lossFirst && !summary.heldOutAccuracy);
    QVERIFY(!summary.currentPeakExact);
    QVERIFY(summary.syncPoints.empty() && summary.fallbacks.empty());
  }

  void percentilesByNearestRank_data() {
    QTest::addColumn<int>("count");
    QTest::addColumn<double>("p50");
    QTest::addColumn<double>("p95");
    // Durations are 1, 2 … count ms; the rank is the smallest r with r >= p * count.
    QTest::newRow("1") << 1 << 1.0 << 1.0;
    QTest::newRow("2") << 2 << 1.0 << 2.0;
    QTest::newRow("5") << 5 << 3.0 << 5.0;
    QTest::newRow("20") << 20 << 10.0 << 19.0;
    QTest::newRow("21") << 21 << 11.0 << 20.0;
    QTest::newRow("100") << 100 << 50.0 << 95.0;
  }

  void percentilesByNearestRank() {
    QFETCH(int, count);
    QFETCH(double, p50);
    QFETCH(double, p95);
    LiveStore store;
    OwnedBatch batch;
    for (int i = 1; i <= count; ++i) {
      // Not in order of duration; 13 has no divisor in common with the counts, so each comes once.
      batch.steps.push_back(secondStep(static_cast<std::uint32_t>(i), i * 13 % count + 1));
    }
    store.apply(batch.view());
    QCOMPARE(summarize(store).stepMsP50, p50);
    QCOMPARE(summarize(store).stepMsP95, p95);
  }

  void throughputAndLoss() {
    LiveStore store;
    OwnedBatch batch;
    batch.steps = {secondStep(1, 100), secondStep(2, 300, 1.5F), secondStep(3, 100, 0.5F),
                   secondStep(4, 500)};
    batch.evaluations.emplace_back(2500 * kMs, 2, 10, 0.25F, 1.0F);
    batch.evaluations.emplace_back(4600 * kMs, 4, 10, 0.75F, 0.5F);
    store.apply(batch.view());
    const RunSummary summary = summarize(store);
    QCOMPARE(summary.tokensPerS, 3000 / 0.9);  // without the first step
    QVERIFY(summary.rateLeavesOutFirst);
    QCOMPARE(*summary.lossFirst, 1.5);
    QCOMPARE(*summary.lossLast, 0.5);
    QCOMPARE(*summary.heldOutAccuracy, 0.75);
    QCOMPARE(summary.firstStep, 1u);
    QCOMPARE(summary.lastStep, 4u);
  }

  void peaks() {
    LiveStore store;
    OwnedBatch batch;
    batch.steps = {secondStep(1, 100, 0, 700), secondStep(2, 100, 0, 900)};
    batch.memorySamples.emplace_back(1050 * kMs, 650, 5000, 8000, events::SampleOrigin::Timer);
    store.apply(batch.view());
    QCOMPARE(summarize(store).currentPeakBytes, 900u);
    QVERIFY(summarize(store).currentPeakExact);
    QCOMPARE(summarize(store).driverPeakBytes, 5000u);
    QCOMPARE(summarize(store).recommendedBytes, 8000u);

    OwnedBatch between;  // a higher sample between steps, which is not exact
    between.memorySamples.emplace_back(1500 * kMs, 1200, 6000, 8000, events::SampleOrigin::Timer);
    store.apply(between.view());
    QCOMPARE(summarize(store).currentPeakBytes, 1200u);
    QVERIFY(!summarize(store).currentPeakExact);

    LiveStore sampled;
    OwnedBatch inexact;
    inexact.steps = {secondStep(1, 100, 0, 700, false)};
    sampled.apply(inexact.view());
    QVERIFY(!summarize(sampled).currentPeakExact);
  }

  void gpuWhereItIsKnown() {
    LiveStore store;
    OwnedBatch batch;
    for (const float percent : {20.0F, -1.0F, 90.0F, 30.0F}) {
      const auto ns = static_cast<std::int64_t>(batch.systemSamples.size()) * kMs;
      batch.systemSamples.emplace_back(ns, -1, -1, -1, percent, events::Pressure::Unknown);
    }
    store.apply(batch.view());
    QCOMPARE(summarize(store).gpuPercentP50.value(), 30.0);
    QCOMPARE(summarize(store).gpuPercentMax.value(), 90.0);
    QVERIFY(!summarize(store, TimeRange{1 * kMs, 2 * kMs}).gpuPercentP50);
  }

  void wholeSampleRun() {
    LiveStore store;
    feed(makeSampleRun(), store);
    const RunSummary summary = summarize(store);
    QCOMPARE(summary.steps, 60u);
    QCOMPARE(summary.lastStep, 60u);
    QVERIFY(summary.stepMsP95 > summary.stepMsP50);
    QVERIFY(*summary.lossLast < *summary.lossFirst);
    QCOMPARE(summary.recommendedBytes, 8 * kGiB);
    QVERIFY(summary.driverPeakBytes > summary.currentPeakBytes);
    QVERIFY(summary.currentPeakExact);
    QCOMPARE(summary.phaseMs[0], 0.0);
    double phases = 0;
    for (const double ms : summary.phaseMs) phases += ms;
    double steps = 0;
    for (const auto& record : store.steps().records) {
      steps += static_cast<double>(record.duration_ns()) / kNsPerMs;
    }
    QVERIFY(qAbs(phases - steps) < 1e-6 * steps);
    QCOMPARE(summary.fallbacks.size(), 1u);
    QCOMPARE(summary.fallbacks[0].count, 15u);
    QCOMPARE(summary.fallbacks[0].bytes, 15 * 4 * kMiB);
    QVERIFY(summary.unplannedSyncMs > 0);
  }

  void totalsByOpAndPlace() {
    LiveStore store;
    for (const OwnedMessage& message : makeSampleRun({.steps = 1})) {
      if (const auto* definitions = std::get_if<Definitions>(&message)) store.apply(*definitions);
    }
    using events::Phase;
    using events::SyncKind;
    const auto sync = [](std::int64_t ms, NameId op, ModuleId module, SyncKind kind, Phase phase,
                         bool deliberate) {
      return events::SyncPoint(ms * kMs, ms * kMs, 8, 1, op, module, kNoId, 1, kind, phase,
                               deliberate);
    };
    OwnedBatch batch;
    batch.steps.emplace_back(0, 200 * kMs, 0, 0, -1, 1, 16, 64, 1000, 0.0F, false, true);
    batch.syncPoints = {sync(1, kScalarRead, kNoId, SyncKind::ScalarRead, Phase::LossRead, true),
                        sync(3, kScalarRead, kNoId, SyncKind::ScalarRead, Phase::LossRead, true),
                        sync(10, kScalarRead, kLayer1, SyncKind::ScalarRead, Phase::Forward, false),
                        sync(20, kScalarRead, kLayer1, SyncKind::ScalarRead, Phase::Forward, true),
                        sync(50, kRenorm, kNoId, SyncKind::Fallback, Phase::Forward, false)};
    store.apply(batch.view());
    const RunSummary summary = summarize(store);
    QCOMPARE(summary.syncPoints.size(), 4u);
    QCOMPARE(summary.syncPoints[0].op, "aten::embedding_renorm_");
    // Planned and unplanned waits of one place have a row each.
    for (const std::size_t row : {1U, 2U}) {
      const OpTotal& forward = summary.syncPoints[row];
      QCOMPARE(forward.where, "forward, encoder.layers.1");
      QCOMPARE(forward.count, 1u);
      QCOMPARE(forward.totalNs, (row == 1 ? 20 : 10) * kMs);
      QCOMPARE(forward.bytes, 8u);
      QCOMPARE(forward.deliberate, row == 1);
      QCOMPARE(forward.unplannedCount, row == 1 ? 0u : 1u);
    }
    const OpTotal& loss = summary.syncPoints[3];
    QCOMPARE(loss.where, "loss read");
    QVERIFY(loss.deliberate);
    QVERIFY(loss.kind == SyncKind::ScalarRead);
    QCOMPARE(summary.unplannedSyncMs, 10.0);  // the wait of a fallback counts as fallback
    QCOMPARE(summary.plannedSyncMs, 24.0);
  }

  void runningSummaryIsTheSummary() {
    LiveStore store;
    RunningSummary running(&store);
    const auto compare = [&] {
      if (!QTest::currentTestFailed()) requireSame(running.update(), summarize(store));
    };
    forEachMessage(makeSampleRun({.steps = 50}), [&](const Message& message) {
      store.apply(message);
      compare();
    });
    QCOMPARE(running.update().steps, 50u);
    store.clear();
    running.reset();
    compare();
    feed(makeSampleRun({.seed = 3, .steps = 7}), store);
    compare();
    QCOMPARE(running.update().steps, 7u);
  }

  void onlyStepsHoldSharesOfTheirTime() {
    LiveStore store;
    OwnedBatch batch;
    batch.steps.push_back(secondStep(1, 50));  // 1000 to 1050 ms
    const auto wait = [&](std::int64_t atMs, std::int64_t ms, events::Phase phase) {
      batch.syncPoints.push_back(
          {atMs * kMs, ms * kMs, 4, 1, kCopy, 0, 0, 1, events::SyncKind::CopyToHost, phase, 0});
    };
    wait(1010, 3, events::Phase::Forward);
    wait(1020, 5, events::Phase::None);   // a script's own code is part of its step
    wait(1100, 40, events::Phase::None);  // an evaluation's, with the step's number
    batch.fallbacks.emplace_back(1030 * kMs, 7 * kMs, 0, 8, 8, 1, kRenorm, 0, 0, 1,
                                 events::Phase::Forward);
    batch.fallbacks.emplace_back(1200 * kMs, 90 * kMs, 0, 8, 8, 1, kRenorm, 0, 0, 1,
                                 events::Phase::None);
    batch.completeUpToNs = 3000 * kMs;
    store.apply(batch.view());
    const RunSummary summary = summarize(store);
    QCOMPARE(summary.unplannedSyncMs, 8.0);
    QCOMPARE(summary.outsideWaitMs, 5.0);
    QCOMPARE(summary.fallbackMs, 7.0);
    QCOMPARE(store.steps().fallbackMs[0], 7.0);
    QCOMPARE(store.steps().unplannedSyncMs[0], 8.0);
    std::int64_t all = 0, inSteps = 0;
    for (const OpTotal& total : summary.syncPoints) {
      all += total.totalNs;
      inSteps += total.inStepsNs;
    }
    QCOMPARE(all, 48 * kMs);
    QCOMPARE(inSteps, 8 * kMs);
  }

  void eventsAfterTheLastStepWaitForTheirs() {
    LiveStore store;
    RunningSummary running(&store);
    // The phases of steps 1 to 5 come first, the latest before the others.
    OwnedBatch phases;
    for (const std::int64_t number : {5, 1, 4, 2, 3}) {
      phases.phases.emplace_back(number * 1000 * kMs, number * kMs,
                                 static_cast<std::uint32_t>(number), kTrainingThread,
                                 events::Phase::Forward);
    }
    store.apply(phases.view());
    const auto forwardMs = [&] {
      return running.update().phaseMs[static_cast<std::size_t>(events::Phase::Forward)];
    };
    QCOMPARE(forwardMs(), 0.0);
    double sum = 0;
    for (std::uint32_t number = 1; number <= 5; ++number) {
      OwnedBatch batch;
      batch.steps = {secondStep(number, 100)};
      store.apply(batch.view());
      sum += number;
      QCOMPARE(forwardMs(), sum);
      QCOMPARE(forwardMs(), sum);
    }
  }

  /// In every range, what the steps hold is that of whole steps, so no part exceeds their time.
  void aRangeHoldsWhatItsStepsHold() {
    LiveStore store;
    feed(makeSampleRun({.steps = 40, .unplannedSyncEvery = 1}), store);
    const auto& steps = store.steps().records;
    std::mt19937_64 random(7);
    std::uniform_int_distribution<std::int64_t> anywhere(0, store.completeUpToNs());
    int cut = 0;
    for (int i = 0; i < 200; ++i) {
      TimeRange range{anywhere(random), anywhere(random)};
      if (range.beginNs > range.endNs) std::swap(range.beginNs, range.endNs);
      const RunSummary summary = summarize(store, range);
      double fallbackMs = 0, unplannedMs = 0, plannedMs = 0, phasesMs = 0, stepsMs = 0;
      double outsideMs = 0;
      std::uint64_t count = 0, totals = 0;
      for (const auto& each : steps) {
        const std::int64_t begin = each.begin_ns(), end = begin + each.duration_ns();
        if (begin < range.beginNs || end > range.endNs) continue;
        ++count;
        stepsMs += toMs(each.duration_ns());
        const auto holds = [&](const auto& event) {
          return event.begin_ns() >= begin && event.begin_ns() < end;
        };
        for (const auto& sync : store.syncPoints()) {
          if (!holds(sync) || sync.kind() == events::SyncKind::Fallback) continue;
          ++totals;
          (sync.deliberate() ? plannedMs : unplannedMs) += toMs(sync.duration_ns());
          if (sync.phase() == events::Phase::None) outsideMs += toMs(sync.duration_ns());
        }
        for (const auto& fallback : store.fallbacks()) {
          if (holds(fallback)) fallbackMs += toMs(fallback.duration_ns());
        }
        for (const auto& phase : store.phases()) {
          if (holds(phase)) phasesMs += toMs(phase.duration_ns());
        }
      }
      QCOMPARE(summary.steps, count);
      QVERIFY(qAbs(summary.fallbackMs - fallbackMs) < 1e-6);
      QVERIFY(qAbs(summary.unplannedSyncMs - unplannedMs) < 1e-6);
      QVERIFY(qAbs(summary.plannedSyncMs - plannedMs) < 1e-6);
      QVERIFY(qAbs(summary.outsideWaitMs - outsideMs) < 1e-6);
      double phases = 0;
      for (const double ms : summary.phaseMs) phases += ms;
      QVERIFY(qAbs(phases - phasesMs) < 1e-6);
      QVERIFY(fallbackMs + unplannedMs + plannedMs <= stepsMs + 1e-6);
      // The tables count the same steps; between steps only evaluations wait.
      std::uint64_t counted = 0;
      for (const OpTotal& total : summary.syncPoints) {
        if (total.kind != events::SyncKind::Fallback && total.inStepsNs > 0) counted += total.count;
      }
      if (count > 0) QCOMPARE(counted, totals);
      cut += count > 0;
    }
    QVERIFY(cut > 100);
  }

  /// Steps with pauses between them, with waits and fallbacks in both, some of which arrive before
  /// their step and out of order: enough of them for several nodes of the trees.
  void aDraggedRangeIsAsAWalkOverIt() {
    LiveStore store;
    for (const OwnedMessage& message : makeSampleRun({.steps = 1})) {
      if (const auto* definitions = std::get_if<Definitions>(&message)) store.apply(*definitions);
    }
    RunningSummary running(&store);
    std::mt19937_64 random(8);
    const std::array ops = {kCopy, kRenorm, kScalarRead};
    const std::array kinds = {events::SyncKind::ScalarRead, events::SyncKind::CopyToHost,
                              events::SyncKind::Fallback};
    constexpr std::int64_t kSteps = 600, kStepMs = 1000;
    int withSteps = 0, without = 0;
    for (std::int64_t number = 1; number <= kSteps; ++number) {
      OwnedBatch batch;
      const auto id = static_cast<std::uint32_t>(number);
      const auto anywhere = [&] {  // 70 % of it within the step
        return (number * kStepMs + static_cast<std::int64_t>(random() % 1000) - 20) * kMs;
      };
      for (int i = 0; i < 40; ++i) {
        batch.syncPoints.emplace_back(anywhere(), static_cast<std::int64_t>(random() % 30) * kMs, 4,
                                      id, ops[random() % 3], random() % 2 ? kLayer1 : kNoId, kNoId,
                                      kTrainingThread, kinds[random() % 3], events::Phase::Forward,
                                      static_cast<std::uint8_t>(random() % 2));
        batch.phases.emplace_back(anywhere(), static_cast<std::int64_t>(random() % 20) * kMs, id,
                                  kTrainingThread,
                                  random() % 2 ? events::Phase::Forward : events::Phase::Backward);
      }
      for (int i = 0; i < 10; ++i) {
        batch.fallbacks.emplace_back(anywhere(), static_cast<std::int64_t>(random() % 30) * kMs, 0,
                                     8, 8, id, ops[random() % 3], kNoId, kNoId, kTrainingThread,
                                     events::Phase::Forward);
      }
      batch.steps = {secondStep(id, 700 + static_cast<std::int64_t>(random() % 100),
                                static_cast<float>(number % 3))};
      if (number % 50 == 0) batch.evaluations.emplace_back(anywhere(), id, 10, 0.5F, 0.25F);
      batch.completeUpToNs = number * kStepMs * kMs;
      store.apply(batch.view());
      if (number % 13 == 0) (void)running.update();
      if (number % 60 != 0) continue;
      for (int i = 0; i < 60; ++i) {
        std::uniform_int_distribution<std::int64_t> begins(0, (number + 1) * kStepMs * kMs);
        TimeRange range{begins(random), begins(random)};
        if (i % 3 == 0) range.endNs = range.beginNs + kStepMs * kMs;  // may hold no step
        if (range.beginNs > range.endNs) std::swap(range.beginNs, range.endNs);
        const RunSummary a = running.in(range), b = summarize(store, range);
        (b.steps > 0 ? withSteps : without) += 1;
        requireSame(a, b);
        if (QTest::currentTestFailed()) return;
      }
    }
    QVERIFY(withSteps > 100 && without > 100);
  }

  void histogramCountsEachStepOnce() {
    LiveStore store;
    OwnedBatch batch;
    for (std::uint32_t i = 1; i <= 5000; ++i) {
      batch.steps.push_back(secondStep(i, 10 + i * 7 % 29));  // 10 to 38 ms
    }
    batch.completeUpToNs = 6'000'000 * kMs;
    store.apply(batch.view());
    const RunSummary summary = summarize(store);
    QCOMPARE(summary.histogram.lowMs, 10.0);
    QCOMPARE(summary.histogram.highMs, 38.0);
    std::uint64_t sum = 0;
    for (const std::uint64_t count : summary.histogram.counts) {
      QVERIFY(count > 0);
      sum += count;
    }
    QCOMPARE(sum, std::uint64_t{5000});
    QCOMPARE(summary.stepMsP50, 24.0);  // the middle of 29 values that come equally often
  }
};

HIGHWATER_TEST(TestRunSummary, QCoreApplication)
#include "tst_run_summary.moc"

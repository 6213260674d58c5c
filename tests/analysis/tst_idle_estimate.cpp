#include "analysis/device/idle_estimate.h"
#include "queue_model.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;

namespace {

constexpr double kRounding = 1e-6;

IdleSummary idleOf(const OwnedBatch& batch, WorkStart start = WorkStart::kEager) {
  LiveStore store;
  store.apply(helloOf(start));
  store.apply(batch.view());
  return estimateIdle(store);
}

double trueIdleMs(const QueueModel& model, std::size_t row) {
  const auto& steps = model.batch().steps;
  return static_cast<double>(model.idleNs(steps[row].begin_ns(), steps[row + 1].begin_ns())) / kMs;
}

}  // namespace

class TestIdleEstimate : public QObject {
  Q_OBJECT

 private slots:
  void aBusyDeviceDoesNotStarve() {
    const IdleSummary idle = idleOf(runOf(evenStep(1000)).batch());
    QCOMPARE(idle.steps.size(), 10u);
    QVERIFY(idle.p50.probable < 0.1);
    QCOMPARE(idle.p50.low, 0.0);
  }

  void aBatchThatTakesLongStarvesIt() {
    ModelStep step = evenStep(200);  // 6 ms of work
    step.assemblyNs = 40 * kMs;
    for (const bool spans : {true, false}) {
      step.deviceSpan = spans;
      const QueueModel model = runOf(step);
      const IdleSummary idle = idleOf(model.batch());
      QCOMPARE(idle.causes[0].cause, IdleCause::BatchAssembly);
      const double truth = trueIdleMs(model, 5);
      QVERIFY(idle.p50.low <= truth + 0.001 && truth <= idle.p50.high + 0.001);
      if (!spans) continue;  // else only bounds are known
      QVERIFY2(std::abs(idle.p50.probable - truth) < 0.2, qPrintable(QString::number(truth)));
    }
  }

  void aFallbackStarvesItForItsOwnTime() {
    ModelStep step = evenStep(1000);
    step.fallbackNs = 7 * kMs;
    const IdleSummary idle = idleOf(runOf(step).batch());
    QCOMPARE(idle.causes[0].cause, IdleCause::Fallback);
    QCOMPARE(idle.causes[0].p50.low, 7.0);
    QCOMPARE(idle.causes[0].p50.high, 7.0);
    QCOMPARE(idle.causes[0].total.probable, 70.0);
  }

  void loggingStarvesIt() {
    ModelStep step = evenStep(1000);
    step.readsLoss = true;
    step.logNs = 4 * kMs;
    const IdleSummary idle = idleOf(runOf(step).batch());
    QCOMPARE(idle.causes[0].cause, IdleCause::Reading);
    QCOMPARE(idle.causes[0].p50.probable, 4.0);
    QCOMPARE(idle.causes[0].p50.low, 0.0);  // the host may have queued work there
  }

  void opsThatComeTooSlowlyStarveIt() {
    const QueueModel model = runOf(evenStep(20));  // 0.6 ms of work in 3 ms
    const IdleSummary idle = idleOf(model.batch());
    QCOMPARE(idle.causes[0].cause, IdleCause::Queueing);
    QVERIFY(idle.p50.low <= trueIdleMs(model, 5) && trueIdleMs(model, 5) <= idle.p50.high);
    QVERIFY(idle.causes[0].p50.probable > 1 && idle.causes[0].p50.probable < 3);
  }

  void anEvaluationIsACauseOfItsOwn() {
    constexpr std::int64_t shiftNs = 100 * kMs;
    OwnedBatch more = runOf(evenStep(1000), 6).batch();
    const std::int64_t fromNs = more.steps.back().begin_ns() + more.steps.back().duration_ns();
    // The next step begins 100 ms later; the held-out set is evaluated in between.
    more.evaluations.emplace_back(fromNs + shiftNs, 6, 10, 0.5F, 1.0F);
    more.syncPoints.push_back(
        syncAt(6, events::SyncKind::CopyToDevice, Phase::None, fromNs / kMs + 40, 1, true));
    more.steps.emplace_back(fromNs + shiftNs, kMs, 1, 1, -1, 7, 16, 64, 1024, 0, 0, 0);
    more.syncPoints.push_back(syncAt(7, events::SyncKind::CopyToDevice, Phase::DeviceMove,
                                     (fromNs + shiftNs) / kMs + 1, 0, true));
    const IdleSummary idle = idleOf(more);
    const StepIdle& last = idle.steps.back();
    QCOMPARE(last.step, 6u);
    QVERIFY(last.byCause[static_cast<std::size_t>(IdleCause::Evaluation)].probable > 50);
    QCOMPARE(last.byCause[static_cast<std::size_t>(IdleCause::Evaluation)].low, 0.0);
  }

  void theCpuAndAFewStepsHaveNone() {
    QVERIFY(idleOf(runOf(evenStep(100), 2).batch()).steps.empty());
    LiveStore store;
    Hello hello;
    hello.device.selected = "cpu";
    store.apply(hello);
    const QueueModel model = runOf(evenStep(100));
    store.apply(model.batch().view());
    QVERIFY(estimateIdle(store).steps.empty());
  }

  /// Also where the nearest wait lies far outside of the range.
  void aRangeIsAPartOfTheRun() {
    std::mt19937 random(12);
    for (int round = 0; round < 60; ++round) {
      QueueModel model;
      for (int i = 0; i < 60; ++i) {
        ModelStep step = evenStep(static_cast<std::int64_t>(random() % 400));
        step.readsLoss = random() % 3 == 0;
        step.fallbackNs = random() % 4 == 0 ? 3 * kMs : 0;
        step.deviceSpan = random() % 3 != 0;
        model.run(step);
      }
      OwnedBatch batch = model.batch();
      if (round % 2 == 0) {
        const std::size_t kept = round % 4 == 0 ? 20 : 70;
        batch.fallbacks.clear();
        std::erase_if(batch.syncPoints, [&](const auto&) { return random() % 100 >= kept; });
        if (round % 10 == 0)
          batch.syncPoints.resize(std::min<std::size_t>(1, batch.syncPoints.size()));
      }
      LiveStore store;
      store.apply(batch.view());
      const IdleSummary whole = estimateIdle(store);
      for (int i = 0; i < 20; ++i) {
        std::uint32_t from = random() % 64, to = random() % 64;
        if (from > to) std::swap(from, to);
        const IdleSummary part = estimateIdle(store, from, to);
        std::vector<StepIdle> expected;
        for (const StepIdle& each : whole.steps) {
          if (each.step >= from && each.step <= to) expected.push_back(each);
        }
        QCOMPARE(part.steps.size(), expected.size());
        for (std::size_t k = 0; k < expected.size(); ++k) {
          QCOMPARE(part.steps[k].step, expected[k].step);
          QCOMPARE(part.steps[k].ms, expected[k].ms);
          for (std::size_t cause = 0; cause < kIdleCauses; ++cause) {
            const IdleTime &a = part.steps[k].byCause[cause], &b = expected[k].byCause[cause];
            QVERIFY(a.low == b.low && a.probable == b.probable && a.high == b.high);
          }
        }
      }
    }
  }

  void deferredWorkLeavesItIdleWhileOpsAreQueued() {
    const OwnedBatch batch = runOf(evenStep(1000), 12, 1000).batch();
    const IdleSummary idle = idleOf(batch, WorkStart::kDeferred);
    // The host queues for 3 ms, and the event at the step's end commits: not idle in what follows.
    QCOMPARE(idle.causes.at(0).cause, IdleCause::Queueing);
    QCOMPARE(idle.causes.at(0).p50.probable, 3.0);
    QCOMPARE(idle.p50.low, 0.0);
    QVERIFY(idle.p50.probable < 3.1);
  }

  void deferredWorkWaitsForTheNextWaitWithoutASpan() {
    ModelStep step = evenStep(1000);
    step.deviceSpan = false;
    step.assemblyNs = 8 * kMs;
    const QueueModel model = runOf(step, 12, 1000);
    QCOMPARE(trueIdleMs(model, 5), 11.0);
    const IdleSummary deferred = idleOf(model.batch(), WorkStart::kDeferred);
    QCOMPARE(deferred.p50.probable, 11.0);
    // Where it is not known, the bounds still hold the truth.
    const IdleSummary unknown = idleOf(model.batch(), WorkStart::kUnknown);
    QVERIFY(unknown.p50.high >= 11.0);
    QVERIFY(unknown.p50.probable < 1);
  }

  /// The true idle time lies between the bounds.
  void theBoundsHoldTheTruth_data() {
    QTest::addColumn<int>("commitAfter");
    QTest::addColumn<WorkStart>("known");
    QTest::newRow("at once") << 0 << WorkStart::kEager;
    QTest::newRow("at once, not known") << 0 << WorkStart::kUnknown;
    for (const int after : {1000, 17, 1}) {
      QTest::addRow("after %d", after) << after << WorkStart::kDeferred;
      QTest::addRow("after %d, not known", after) << after << WorkStart::kUnknown;
    }
  }
  void theBoundsHoldTheTruth() {
    QFETCH(int, commitAfter);
    QFETCH(WorkStart, known);
    std::mt19937 random(11);
    for (int round = 0; round < 500; ++round) {
      const QueueModel model = randomRun(random, 8, /*spans=*/false, commitAfter);
      OwnedBatch batch = model.batch();
      if (round % 5 == 0) {  // a run that never waits, or only at its end
        batch.fallbacks.clear();
        const auto kept = std::ptrdiff_t(batch.syncPoints.empty() ? 0 : round % 2);
        batch.syncPoints.erase(batch.syncPoints.begin(), batch.syncPoints.end() - kept);
      }
      const IdleSummary idle = idleOf(batch, known);
      for (std::size_t i = 0; i < idle.steps.size(); ++i) {
        const StepIdle& step = idle.steps[i];
        const double truth = trueIdleMs(model, i + 1);
        const QString all = QString("round %1, step %2: %3 in %4 to %5")
                                .arg(round)
                                .arg(step.step)
                                .arg(truth)
                                .arg(step.total.low)
                                .arg(step.total.high);
        QVERIFY2(step.total.low <= truth + kRounding && truth <= step.total.high + kRounding,
                 qPrintable(all));
        QVERIFY2(step.total.low <= step.total.probable + kRounding &&
                     step.total.probable <= step.total.high + kRounding,
                 qPrintable(all));
        QVERIFY(step.total.high <= step.ms + kRounding);
      }
    }
  }
};

HIGHWATER_TEST(TestIdleEstimate, QCoreApplication)
#include "tst_idle_estimate.moc"

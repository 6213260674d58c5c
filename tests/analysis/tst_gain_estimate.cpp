// Gains against a model of a host and a device: the same steps are run with and without their
// problem, and the difference in time is what the estimate must give.

#include "analysis/device/gain_estimate.h"
#include "analysis/findings/findings.h"
#include "core/units.h"
#include "queue_model.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;

namespace {

/// In ms: the model queues whole ops, the estimate queues evenly.
constexpr double kModelRounding = 0.25;
/// Of an estimate with two waits, after each of which the device is assumed to start again.
constexpr double kRestarts = kModelRounding + 2 * GainEstimator::kRestartNs / kNsPerMs;

/// Time of a step in the long run, in ms.
double stepMs(const QueueModel& model) {
  const auto& steps = model.batch().steps;
  return static_cast<double>(steps.back().begin_ns() - steps[1].begin_ns()) / kMs /
         static_cast<double>(steps.size() - 2);
}

Gain gainOf(const OwnedBatch& batch, const Fix& fix) {
  LiveStore store;
  store.apply(helloOf(WorkStart::kEager));
  store.apply(batch.view());
  // Without the last step, whose device work ends after the last wait.
  GainEstimator gains(store, 1, store.steps().records.size() - 1);
  gains.read().finish();
  return gains.of(fix);
}

Fix withoutReads(const OwnedBatch& batch) {
  Fix fix;
  for (const events::SyncPoint& each : batch.syncPoints) {
    if (each.kind() != events::SyncKind::ScalarRead) continue;
    fix.removed.push_back({each.begin_ns(), each.begin_ns() + each.duration_ns()});
  }
  fix.remove(HostWork::Reading);
  return fix;
}

Fix withoutFallbacks(const OwnedBatch& batch) {
  Fix fix;
  for (const events::FallbackEvent& each : batch.fallbacks) {
    fix.removed.push_back({each.begin_ns(), each.begin_ns() + each.duration_ns()});
  }
  return fix;
}

Fix withoutAssembly(const OwnedBatch&) {
  Fix fix;
  fix.remove(HostWork::BatchAssembly);
  return fix;
}

QByteArray text(const Gain& gain, double truth) {
  return QStringLiteral("%1 (%2 to %3), truly %4")
      .arg(gain.estimate)
      .arg(gain.low)
      .arg(gain.high)
      .arg(truth)
      .toUtf8();
}

}  // namespace

class TestGainEstimate : public QObject {
  Q_OBJECT

 private slots:
  /// The host waits 20 ms for a queue that is never empty: it would wait later instead.
  void aWaitForABusyDeviceGainsNothing() {
    ModelStep step = evenStep(2000);
    step.readsLoss = true;
    const QueueModel model = runOf(step, 40);
    double waitsMs = 0;
    for (const events::SyncPoint& each : model.batch().syncPoints) {
      if (each.kind() == events::SyncKind::ScalarRead) {
        waitsMs += static_cast<double>(each.duration_ns()) / kMs / 40;
      }
    }
    QVERIFY(waitsMs > 15);
    const Gain gain = gainOf(model.batch(), withoutReads(model.batch()));
    QVERIFY2(gain.estimate < kRestarts, text(gain, 0));
    // While the host queues the first phase, 1 ms, the device may have been idle.
    QVERIFY2(gain.high < 1 + kModelRounding, text(gain, 0));
  }

  void whatTheHostDoesWhileTheDeviceIsIdleIsGained() {
    ModelStep step = evenStep(1000);
    step.readsLoss = true;
    step.logNs = 7 * kMs;
    const QueueModel model = runOf(step, 40);
    const Gain gain = gainOf(model.batch(), withoutReads(model.batch()));
    QVERIFY2(std::abs(gain.estimate - 7) < kRestarts, text(gain, 7));
  }

  /// The host waits for an event while the device has nothing to do.
  void aWaitThatEmptiesNoQueueIsGainedWhereTheDeviceIsIdle() {
    ModelStep step = evenStep(1000);
    step.readsLoss = true;
    step.logNs = 7 * kMs;
    OwnedBatch batch = runOf(step, 40).batch();
    Fix fix;
    for (std::size_t i = 0, count = batch.syncPoints.size(); i < count; ++i) {
      const events::SyncPoint read = batch.syncPoints[i];
      if (read.kind() != events::SyncKind::ScalarRead) continue;
      const std::int64_t begin = read.begin_ns() + read.duration_ns();
      fix.removed.push_back({begin, begin + step.logNs});
      batch.syncPoints.emplace_back(begin, step.logNs, 0, read.step(), kNoId, kNoId, kNoId,
                                    kTrainingThread, events::SyncKind::EventWait, read.phase(),
                                    std::uint8_t{0});
    }
    QVERIFY(!fix.removed.empty());
    const Gain gain = gainOf(batch, fix);
    QVERIFY2(std::abs(gain.estimate - 7) < kRestarts, text(gain, 7));
  }

  /// A fallback's own time is gained, up to what the op would take on the device.
  void aFallbackGainsItsOwnTime() {
    ModelStep step = evenStep(1000);
    step.fallbackNs = 5 * kMs;
    const QueueModel model = runOf(step, 40);
    const Gain gain = gainOf(model.batch(), withoutFallbacks(model.batch()));
    QVERIFY2(std::abs(gain.estimate - 5) < kRestarts, text(gain, 5));
    QVERIFY2(gain.low < kModelRounding && gain.high < 6 + kModelRounding, text(gain, 5));
  }

  /// 40 ms to assemble a batch, of which the device works 10.
  void batchesThatAreReadyGainTheIdleTime() {
    ModelStep step = evenStep(400);
    step.assemblyNs = 40 * kMs;
    const QueueModel model = runOf(step, 40);
    ModelStep fixed = step;
    fixed.assemblyNs = 0;
    const double truth = stepMs(model) - stepMs(runOf(fixed, 40));
    QVERIFY(truth > 20 && truth < 32);
    const Gain gain = gainOf(model.batch(), withoutAssembly(model.batch()));
    QVERIFY2(std::abs(gain.estimate - truth) < kRestarts, text(gain, truth));
  }

  /// Two fixes together gain what the device was idle for, not the sum of their waits.
  void fixesTogether() {
    ModelStep step = evenStep(1000);
    step.readsLoss = true;
    step.logNs = 3 * kMs;
    step.fallbackNs = 4 * kMs;
    const QueueModel model = runOf(step, 40);
    Fix both = withoutReads(model.batch());
    both.add(withoutFallbacks(model.batch()));
    const Gain gain = gainOf(model.batch(), both);
    QVERIFY2(std::abs(gain.estimate - 7) < kRestarts, text(gain, 7));
  }

  /// The backlog at the end is not saved: a training that never waits is as fast as its device.
  void aTrainingWithoutAnyWaitStillHasToBeExecuted() {
    ModelStep step = evenStep(1000);
    step.readsLoss = true;
    const QueueModel model = runOf(step, 40);
    Fix all;
    for (const events::SyncPoint& each : model.batch().syncPoints) {
      all.removed.push_back({each.begin_ns(), each.begin_ns() + each.duration_ns()});
    }
    const Gain gain = gainOf(model.batch(), all);
    const double idle = stepMs(model) - 30;  // 30 ops of 1 ms
    QVERIFY2(gain.estimate <= idle + kRestarts, text(gain, idle));
    QVERIFY2(gain.high < 3 + kModelRounding, text(gain, idle));  // the host queues for 3 ms
  }

  /// Of a long run only some steps are replayed, from all parts of it.
  void aLongRunIsSampled() {
    ModelStep slow = evenStep(1000), plain = slow;
    slow.fallbackNs = 6 * kMs;
    QueueModel model;
    constexpr std::size_t kSteps = 3 * GainEstimator::kMostSteps;
    for (std::size_t i = 0; i < kSteps; ++i) model.run(i < kSteps / 2 ? slow : plain);
    const Gain gain = gainOf(model.batch(), withoutFallbacks(model.batch()));
    QVERIFY2(std::abs(gain.estimate - 3) < kRestarts, text(gain, 3));
  }

  /// With so few waits, each sampled block needs a timeline of all steps between two of them. The
  /// steps are all alike, so a run that is not sampled has the same gain.
  void rareWaitsOfALongRunAreSampled_data() {
    QTest::addColumn<int>("every");
    QTest::newRow("two, at the ends") << 0;
    QTest::newRow("every 1000 steps") << 1000;
  }
  void rareWaitsOfALongRunAreSampled() {
    QFETCH(int, every);
    ModelStep step = evenStep(400);
    step.assemblyNs = 40 * kMs;
    const auto gainOfSteps = [&](int steps) {
      OwnedBatch batch = runOf(step, steps).batch();
      const auto last = static_cast<std::uint32_t>(steps);
      EventVector<events::SyncPoint> kept;
      for (const events::SyncPoint& each : batch.syncPoints) {
        const bool isRegular = every > 0 && each.step() % static_cast<std::uint32_t>(every) == 2;
        if (isRegular || each.step() == 2 || each.step() == last) kept.push_back(each);
      }
      batch.syncPoints = kept;
      return gainOf(batch, withoutAssembly(batch));
    };
    const int notSampled = static_cast<int>(GainEstimator::kMostSteps);
    const Gain whole = gainOfSteps(notSampled), sampled = gainOfSteps(3 * notSampled);
    QVERIFY(whole.estimate > 1);
    const auto same = [](double a, double b) { return std::abs(a - b) < 0.01 * (1 + std::abs(b)); };
    QVERIFY2(same(sampled.estimate, whole.estimate), text(sampled, whole.estimate));
    QVERIFY2(same(sampled.low, whole.low), text(sampled, whole.low));
    QVERIFY2(same(sampled.high, whole.high), text(sampled, whole.high));
  }

  void nothingIsKnownWithoutAQueue() {
    LiveStore store;
    Hello hello;
    hello.device.selected = "cpu";
    store.apply(hello);
    const QueueModel model = runOf(evenStep(100));
    store.apply(model.batch().view());
    GainEstimator gains(store, 1, 10);
    gains.read().finish();
    QVERIFY(!gains.known());
    QCOMPARE(gains.of({}).high, 0.0);
    const LiveStore empty;
    GainEstimator ofNothing(empty, 1, 10);
    ofNothing.read().finish();
    QVERIFY(!ofNothing.known());
  }

  /// Random steps, host-bound and device-bound. The truth lies between the bounds, the estimate is
  /// within 20 % or 1 ms of it wherever the device span is known, and a gain is at most the idle
  /// time.
  void theBoundsHoldTheTruth() {
    std::mt19937 random(5);
    const auto upTo = [&random](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1));
    };
    for (int round = 0; round < 600; ++round) {
      ModelStep step = evenStep(20 + upTo(1000));
      for (ModelPhase& phase : step.phases) phase.hostNs = (5 + upTo(100)) * kUs;
      step.assemblyNs = upTo(2) * kMs;
      ModelStep fixed = step;
      std::function<Fix(const OwnedBatch&)> fix = withoutAssembly;
      switch (round % 3) {
        case 0:
          step.readsLoss = true;
          step.logNs = upTo(10) * kMs;
          fix = withoutReads;
          break;
        case 1:
          step.fallbackNs = 1 + upTo(10) * kMs;
          fix = withoutFallbacks;
          break;
        default:
          step.assemblyNs = upTo(40) * kMs;
          fixed.assemblyNs = 0;
          break;
      }
      step.deviceSpan = fixed.deviceSpan = round % 2 == 0;
      const QueueModel model = runOf(step, 40), without = runOf(fixed, 40);
      const double truth = stepMs(model) - stepMs(without);
      const Gain gain = gainOf(model.batch(), fix(model.batch()));
      const QByteArray what = "round " + QByteArray::number(round) + ": " + text(gain, truth);
      QVERIFY2(gain.low <= gain.estimate && gain.estimate <= gain.high, what);
      QVERIFY2(gain.low <= truth + kModelRounding && truth <= gain.high + kModelRounding, what);
      const auto& steps = model.batch().steps;
      const double idle =
          static_cast<double>(model.idleNs(steps[1].begin_ns(), steps.back().begin_ns())) / kMs /
          static_cast<double>(steps.size() - 2);
      QVERIFY2(truth <= idle + kModelRounding, what);
      if (step.deviceSpan) {
        QVERIFY2(std::abs(gain.estimate - truth) <= std::max(0.2 * truth, 1.0), what);
      }
    }
  }

  void writesItsBounds() {
    QCOMPARE(gainText({0, 0, 0}), std::string("nothing"));
    QCOMPARE(gainText({5, 5, 5}), std::string("5.00 ms a step"));
    QCOMPARE(gainText({0, 1, 1}), std::string("0 to 1.00 ms a step"));
    QCOMPARE(gainText({6, 7, 8}), std::string("about 7.00 ms a step (6.00 ms to 8.00 ms)"));
  }
};

HIGHWATER_TEST(TestGainEstimate, QCoreApplication)
#include "tst_gain_estimate.moc"

#include "analysis/device/device_share.h"

#include "queue_model.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;

namespace {

double toModelMs(std::int64_t ns) {
  return static_cast<double>(ns) / kMs;
}

}  // namespace

class TestDeviceShare : public QObject {
  Q_OBJECT

 private slots:
  /// The host waits in the device move for the step before: by host time the move takes most of a
  /// step, on the device nothing.
  void theMoveIsNotWhereTheDeviceWorks() {
    ModelStep step;
    step.phases = {{Phase::Forward, 10, kMs / 10, 4 * kMs},
                   {Phase::Backward, 10, kMs / 10, 6 * kMs},
                   {Phase::OptimizerStep, 10, kMs / 10, kMs}};
    step.readsLoss = true;  // tells forward from the others
    const QueueModel model = runOf(step, 40);
    const LiveStore store = storeOf(model.batch());
    const DeviceShare share = deviceShareIn(store, {0, store.completeUpToNs()});
    QVERIFY(share.unknown.empty());
    QVERIFY(share.steps >= 30);
    double sum = share.idleMs + share.restMs;
    bool forward = false;
    for (const DevicePart& part : share.parts) {
      QVERIFY(part.lowMs <= part.ms && part.ms <= part.highMs + 1e-9);
      sum += part.ms;
      if (part.phases != std::vector{Phase::Forward}) continue;
      forward = true;
      const double truth = toModelMs(model.executedNs(20, Phase::Forward));
      QVERIFY2(std::abs(part.ms - truth) < 1.5, qPrintable(QString::number(part.ms)));
    }
    QVERIFY(forward);
    QVERIFY2(std::abs(sum - share.stepMs) < 1e-6, qPrintable(QString::number(sum)));
    QVERIFY(share.idleMs < 0.05 * share.stepMs);
  }

  /// All adds up to the time of a step, for any run and any range, and idle time is near the truth.
  void allAddsUp() {
    std::mt19937 random(9);
    const auto upTo = [&random](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1));
    };
    int judged = 0;
    for (int round = 0; round < 200; ++round) {
      QueueModel model;
      for (int i = 0; i < 30; ++i) {
        ModelStep step;
        for (const Phase phase : {Phase::Forward, Phase::Backward, Phase::OptimizerStep}) {
          step.phases.push_back({phase, 10, upTo(200) * 1000, kMs + upTo(400) * 1000});
        }
        step.assemblyNs = upTo(60) * kMs;
        step.fallbackNs = random() % 3 == 0 ? upTo(5) * kMs : 0;
        step.readsLoss = random() % 2 == 0;
        model.run(step);
      }
      const LiveStore store = storeOf(model.batch());
      const std::int64_t begin = upTo(store.completeUpToNs() / 2);
      const TimeRange range{begin, begin + store.completeUpToNs() / 2};
      const DeviceShare share = deviceShareIn(store, range);
      if (!share.unknown.empty()) continue;
      double sum = share.idleMs + share.restMs;
      for (const DevicePart& part : share.parts) sum += part.ms;
      QVERIFY(std::abs(sum - share.stepMs) < 1e-6 * share.stepMs + 1e-9);
      QVERIFY(share.restMs >= -1e-9 && share.idleMs >= -1e-9);
      const auto& lane = store.steps().lane;
      const std::size_t first = lane.firstFrom(range.beginNs), last = first + share.steps;
      const double truth = toModelMs(model.idleNs(lane[first].beginNs, lane[last].beginNs)) /
                           static_cast<double>(share.steps);
      QVERIFY2(
          std::abs(share.idleMs - truth) < 0.12 * share.stepMs,
          qPrintable(QString("%1, not %2 of %3").arg(share.idleMs).arg(truth).arg(share.stepMs)));
      ++judged;
    }
    QVERIFY(judged > 150);
  }

  void whatIsNotKnownIsSaid() {
    LiveStore cpu;
    Hello hello;
    hello.device.selected = "cpu";
    cpu.apply(hello);
    QVERIFY(!deviceShareIn(cpu, {0, 100}).unknown.empty());
    QVERIFY(!deviceShareIn(LiveStore(), {0, 100}).unknown.empty());
    ModelStep step;
    step.phases = {{Phase::Forward, 10, kMs / 10, kMs}};
    OwnedBatch batch = runOf(step, 20).batch();
    const std::int64_t endNs = batch.steps.back().begin_ns();
    QVERIFY(deviceShareIn(storeOf(batch), {0, endNs}).unknown.empty());
    QVERIFY(!deviceShareIn(storeOf(batch), {endNs, endNs + 10}).unknown.empty());
    batch.syncPoints.clear();
    QVERIFY(!deviceShareIn(storeOf(batch), {0, endNs}).unknown.empty());
  }
};

HIGHWATER_TEST(TestDeviceShare, QCoreApplication)
#include "tst_device_share.moc"

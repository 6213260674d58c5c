#include "analysis/device/phase_execution.h"
#include "queue_model.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;

namespace {

/// Forward queues 10 ops in 3 ms, backward 20 in 4 ms, the optimizer 10 in 1 ms.
ModelStep stepOf(std::int64_t deviceUsPerOp) {
  const std::int64_t deviceNs = deviceUsPerOp * 1000;
  ModelStep step;
  step.phases = {{Phase::Forward, 10, 300'000, deviceNs},
                 {Phase::Backward, 20, 200'000, deviceNs},
                 {Phase::OptimizerStep, 10, 100'000, deviceNs}};
  return step;
}

ExecutionSummary executionOf(const OwnedBatch& batch) {
  LiveStore store;
  store.apply(helloOf(WorkStart::kEager));
  store.apply(batch.view());
  return summarizeExecution(store);
}

const PhaseExecution* find(const ExecutionSummary& summary, std::vector<Phase> phases) {
  for (const PhaseExecution& each : summary.phases) {
    if (each.phases == phases) return &each;
  }
  return nullptr;
}

double trueMs(const QueueModel& model, Phase phase) {
  return static_cast<double>(model.executedNs(6, phase)) / kMs;
}

bool holds(const PhaseExecution& execution, double ms) {
  return execution.lowMs && *execution.lowMs <= ms + 1e-6 && ms <= *execution.highMs + 1e-6;
}

}  // namespace

class TestPhaseExecution : public QObject {
  Q_OBJECT

 private slots:
  void aReadAfterForwardTellsForwardApart() {
    ModelStep step = stepOf(3500);
    step.readsLoss = true;
    const QueueModel model = runOf(step);
    const ExecutionSummary summary = executionOf(model.batch());
    const PhaseExecution* forward = find(summary, {Phase::Forward});
    QVERIFY(forward && forward->lowMs);
    QCOMPARE(forward->queuedMs, 3.0);  // and executed in 35
    QCOMPARE(*forward->lowMs, 32.3);
    QCOMPARE(*forward->highMs, 35.3);
    QCOMPARE(forward->steps, std::uint64_t{11});
    QCOMPARE(trueMs(model, Phase::Forward), 35.0);
    // No wait separates the other two.
    QVERIFY(!find(summary, {Phase::Backward})->lowMs && !find(summary, {Phase::Backward})->highMs);
    const PhaseExecution* rest = find(summary, {Phase::Backward, Phase::OptimizerStep});
    QVERIFY(rest &&
            holds(*rest, trueMs(model, Phase::Backward) + trueMs(model, Phase::OptimizerStep)));
    QCOMPARE(rest->queuedMs, 5.0);
  }

  void withoutAReadOnlyTheStepIsKnown() {
    const ExecutionSummary summary = executionOf(runOf(stepOf(2000)).batch());
    QCOMPARE(summary.stepQueuedMs, 8.0);
    QCOMPARE(*summary.stepDeviceMs, 80.3);
    QCOMPARE(summary.steps, std::uint64_t{11});
    QCOMPARE(summary.phases.size(), 3u);
    for (const PhaseExecution& each : summary.phases) QVERIFY(!each.lowMs && !each.highMs);
  }

  void aFewStepsThatReadTellForAll() {
    QueueModel model;
    for (int i = 0; i < 20; ++i) {
      ModelStep step = stepOf(1000);
      step.readsLoss = i % 5 == 4;
      model.run(step);
    }
    const ExecutionSummary summary = executionOf(model.batch());
    const PhaseExecution* forward = find(summary, {Phase::Forward});
    QVERIFY(forward && holds(*forward, 10));
    QCOMPARE(forward->steps, std::uint64_t{4});
  }

  void aDeviceThatKeepsUpHasAMostOnly() {
    ModelStep step = stepOf(10);
    step.readsLoss = true;
    const ExecutionSummary summary = executionOf(runOf(step).batch());
    const PhaseExecution* forward = find(summary, {Phase::Forward});
    QVERIFY(forward && !forward->lowMs && forward->highMs);
    QVERIFY(*forward->highMs >= 0.1 && *forward->highMs <= 3.1);
  }

  void theHostsLeadIsWhatTheDeviceStillHasToDo() {
    const ExecutionSummary summary = executionOf(runOf(stepOf(2000)).batch());
    QVERIFY(summary.lead.has_value());
    QCOMPARE(summary.lead->p50Ms, 72.3);  // 80.3 after the batch came, 8 of them while it queued
    QCOMPARE(summary.lead->maxMs, 72.3);
    QCOMPARE(*summary.lead->maxSteps, 72.3 / 80.3);
    ModelStep unknown = stepOf(2000);
    unknown.deviceSpan = false;
    const ExecutionSummary byWaits = executionOf(runOf(unknown).batch());
    QCOMPARE(byWaits.lead->p50Ms, 72.3);
    QVERIFY(!byWaits.lead->p50Steps && !byWaits.stepDeviceMs);
  }

  void batchAssemblyAndFallbacksQueueNothing() {
    ModelStep step = stepOf(2000);
    step.assemblyNs = 30 * kMs;
    step.fallbackNs = 9 * kMs;
    const QueueModel model = runOf(step);
    const ExecutionSummary summary = executionOf(model.batch());
    QCOMPARE(summary.stepQueuedMs, 8.0);
    QCOMPARE(find(summary, {Phase::Forward})->queuedMs, 3.0);
    QVERIFY(holds(*find(summary, {Phase::Forward}), trueMs(model, Phase::Forward)));
  }

  void theBoundsHoldTheTruth() {
    std::mt19937 random(5);
    int known = 0;
    for (int round = 0; round < 300; ++round) {
      ModelStep step = stepOf(random() % 3000);
      for (ModelPhase& phase : step.phases) phase.hostNs = random() % 400'000;
      step.readsLoss = random() % 2 == 0;
      step.fallbackNs = random() % 2 * 3 * kMs;
      step.logNs = random() % 2 * kMs;
      step.deviceSpan = random() % 2 == 0;
      const QueueModel model = runOf(step);
      for (const PhaseExecution& each : executionOf(model.batch()).phases) {
        if (!each.highMs || each.phases.size() > 1) continue;
        const double truth = trueMs(model, each.phases[0]);
        known += each.lowMs.has_value();
        QVERIFY2(each.lowMs.value_or(0) <= truth + 1e-6 && truth <= *each.highMs + 1e-6,
                 qPrintable(QString("round %1: %2 in %3 to %4")
                                .arg(round)
                                .arg(truth)
                                .arg(each.lowMs.value_or(0))
                                .arg(*each.highMs)));
      }
    }
    QVERIFY(known > 50);
  }

  void theCpuHasNone() {
    LiveStore store;
    Hello hello;
    hello.device.selected = "cpu";
    store.apply(hello);
    const QueueModel model = runOf(stepOf(1000));
    store.apply(model.batch().view());
    const ExecutionSummary summary = summarizeExecution(store);
    QVERIFY(summary.phases.empty() && !summary.lead && summary.steps == 0);
  }
};

HIGHWATER_TEST(TestPhaseExecution, QCoreApplication)
#include "tst_phase_execution.moc"

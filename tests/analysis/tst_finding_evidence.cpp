// The evidence of findings: the cause of an idle device, the module that keeps memory.

#include "analysis/findings/findings.h"
#include "queue_model.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;

namespace {

Findings findingsOf(const OwnedBatch& batch) {
  LiveStore store;
  defineNames(store);
  store.apply(batch.view());
  return findProblems(store);
}

/// Twenty steps of 10 ms that grow by 1 MiB each, as an op in each step's forward sees it.
OwnedBatch growingRun(const std::function<std::uint32_t(std::uint32_t)>& length) {
  OwnedBatch batch;
  for (std::uint32_t step = 1; step <= 20; ++step) {
    const std::int64_t beginMs = 10 * step;
    const std::uint64_t bytes = std::uint64_t{step + 10} << 20;
    batch.steps.push_back(stepAt(step, beginMs, 9, length(step)));
    batch.memorySamples.emplace_back((beginMs + 8) * kMs, bytes, bytes, 1 << 30,
                                     events::SampleOrigin::PhaseBoundary);
  }
  return batch;
}

void addOp(OwnedBatch& batch, std::uint32_t step, std::int64_t atMs, ModuleId module,
           std::uint64_t currentBytes) {
  batch.ops.emplace_back((10 * step + atMs) * kMs, kMs, static_cast<std::int64_t>(currentBytes), 0,
                         step, kRenorm, module, kNoId, kTrainingThread, 0, Phase::Forward, 0);
}

}  // namespace

class TestFindingEvidence : public QObject {
  Q_OBJECT

 private slots:
  void hostBoundNamesTheCause() {
    ModelStep step = evenStep(300);
    step.assemblyNs = 40 * kMs;
    QueueModel model;
    for (int i = 0; i < 12; ++i) model.run(step);
    const Findings findings = findingsOf(model.batch());
    QCOMPARE(findings.found.size(), 1u);
    QCOMPARE(findings.found[0].kind, FindingKind::HostBound);
    QVERIFY2(findings.found[0].evidence.find("by the waits about") != std::string::npos &&
                 findings.found[0].evidence.find(", by batch assembly 3") != std::string::npos,
             findings.found[0].evidence.c_str());
  }

  /// 30 ops of 200 us on the host and 20 us on the device: the device waits for each.
  void aSlowHostIsFoundWithoutABatch() {
    ModelStep step;
    step.assemblyNs = kMs / 2;
    for (const Phase phase : {Phase::Forward, Phase::Backward, Phase::OptimizerStep}) {
      step.phases.push_back({phase, phase == Phase::Backward ? 20 : 5, 200'000, 20'000});
    }
    const QueueModel model = runOf(step);
    const Findings findings = findingsOf(model.batch());
    QCOMPARE(findings.found.size(), 1u);
    const Finding& finding = findings.found[0];
    QCOMPARE(finding.kind, FindingKind::HostBound);
    QVERIFY(finding.estimate);
    QCOMPARE(finding.where, std::string("backward"));
    const auto& steps = model.batch().steps;
    const auto truth =
        static_cast<double>(model.idleNs(steps[5].begin_ns(), steps[6].begin_ns())) / kMs;
    QVERIFY2(*finding.waitsMs > 0.2 * truth && *finding.waitsMs <= truth, finding.title.c_str());
    for (const char* word :
         {"had finished everything", "an estimate", "backward, 4.00 ms a step"}) {
      QVERIFY2(finding.evidence.find(word) != std::string::npos, finding.evidence.c_str());
    }
    // A device that is slower than the host is never idle.
    for (ModelPhase& phase : step.phases) phase.deviceNs = 300'000;
    QVERIFY(findingsOf(runOf(step).batch()).found.empty());
  }

  /// Of what can be had in part only, as the time of queueing, all fixes together have no more.
  void allFixesHaveThePartOfEach() {
    ModelStep step;
    step.assemblyNs = kMs / 2;
    for (const Phase phase : {Phase::Forward, Phase::Backward, Phase::OptimizerStep}) {
      step.phases.push_back({phase, phase == Phase::Backward ? 20 : 5, 200'000, 20'000});
    }
    const Findings findings = findingsOf(runOf(step).batch());
    double sumMs = 0;
    bool isQueueing = false;
    for (const Finding& each : findings.found) {
      sumMs += each.gainMs ? each.gainMs->estimate : 0;
      isQueueing = isQueueing || each.kind == FindingKind::HostBound;
    }
    QVERIFY(isQueueing);
    QVERIFY(findings.gainOfAllMs && findings.gainOfAllMs->estimate > 0);
    QVERIFY2(findings.gainOfAllMs->estimate <= 1.05 * sumMs,
             qPrintable(QString("%1 of %2").arg(findings.gainOfAllMs->estimate).arg(sumMs)));
  }

  void slowLoggingMakesTheDeviceIdle() {
    ModelStep step = evenStep(300);
    step.readsLoss = true;
    step.logNs = 20 * kMs;
    const Findings findings = findingsOf(runOf(step).batch());
    // Two views of the same: what the loop does too often, and what the device waits for.
    const auto of = [&findings](FindingKind kind) {
      return std::find_if(findings.found.begin(), findings.found.end(),
                          [kind](const Finding& each) { return each.kind == kind; });
    };
    QVERIFY(of(FindingKind::ChattyLogging) != findings.found.end());
    const auto hostBound = of(FindingKind::HostBound);
    QVERIFY(hostBound != findings.found.end());
    QCOMPARE(hostBound->where, std::string("loss read"));
    QCOMPARE(*hostBound->waitsMs, 20.0);
  }

  /// In steps of a millisecond the near-zero wait is half of the step.
  void shortStepsGiveNoFinding() {
    ModelStep step;
    step.assemblyNs = 0;
    for (const Phase phase : {Phase::Forward, Phase::Backward}) {
      step.phases.push_back({phase, 10, 50'000, 5'000});
    }
    QVERIFY(findingsOf(runOf(step).batch()).found.empty());
  }

  void aFallbackNamesTheSwitchesOfAStep() {
    ModelStep step = evenStep(1000);
    step.fallbackNs = 10 * kMs;
    QueueModel model;
    for (int i = 0; i < 12; ++i) model.run(step);
    const Findings findings = findingsOf(model.batch());
    QCOMPARE(findings.found[0].kind, FindingKind::Fallback);
    QVERIFY2(findings.found[0].evidence.find("; 3 device switches a step (1 ") != std::string::npos,
             findings.found[0].evidence.c_str());
  }

  void growthNamesTheModuleThatKeepsIt() {
    OwnedBatch batch = growingRun(sameLength);
    QVERIFY(findingsOf(batch).found.at(0).where.empty());
    for (std::uint32_t step = 2; step <= 20; ++step) {
      const std::uint64_t before = std::uint64_t{step + 9} << 20;
      addOp(batch, step, 1, kEmbedding, before);
      addOp(batch, step, 3, kLayer1, before + (1 << 20));
      addOp(batch, step, 5, kEmbedding, before + (1 << 20) + 1000);
    }
    const Finding finding = findingsOf(batch).found.at(0);
    QCOMPARE(finding.kind, FindingKind::MemoryGrowth);
    QCOMPARE(finding.where, std::string("encoder.layers.1"));
    QCOMPARE(*finding.costBytes, static_cast<double>(1 << 20));
    QVERIFY2(finding.evidence.find("the median step adds 1.0 MiB") != std::string::npos,
             finding.evidence.c_str());
  }

  void largerBatchesAreNoGrowth() {
    // Two steps of each length, and each length larger than the one before.
    OwnedBatch batch = growingRun([](std::uint32_t step) { return 8 + step / 2; });
    for (std::size_t i = 1; i < batch.memorySamples.size(); i += 2) {
      batch.memorySamples[i].mutate_current_bytes(
          batch.memorySamples[std::min(i + 1, batch.memorySamples.size() - 1)].current_bytes());
    }
    QVERIFY(findingsOf(batch).found.empty());
  }
};

HIGHWATER_TEST(TestFindingEvidence, QCoreApplication)
#include "tst_finding_evidence.moc"

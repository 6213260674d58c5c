#include "analysis/findings/findings.h"
#include "judged_run.h"
#include "queue_model.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

Verdict verdictOf(const OwnedBatch& batch) {
  return findProblems(storeOf(batch)).verdict;
}

}  // namespace

/// The verdict on runs of the queue's model, of which it is known when the device worked.
class TestVerdict : public QObject {
  Q_OBJECT

 private slots:
  void aBusyDevice() {
    const Findings findings = findProblems(storeOf(runOf(evenStep(1000), 40).batch()));
    const Verdict& verdict = findings.verdict;
    QCOMPARE(verdict.bottleneck, Bottleneck::kDevice);
    QVERIFY(findings.waitsCostLittle);
    QVERIFY2(verdict.text.starts_with("The device is the bottleneck: it is busy for "),
             verdict.text.c_str());
  }

  /// Without device spans the bounds are wide; the model knows when the device has worked.
  void aDeviceThatIsProbablyBusy() {
    int probable = 0;
    for (std::int64_t deviceUs = 50; deviceUs <= 400; deviceUs += 10) {
      ModelStep step = evenStep(deviceUs);
      step.deviceSpan = false;
      const QueueModel model = runOf(step, 40);
      const Verdict verdict = verdictOf(model.batch());
      if (verdict.text.find("probably") == std::string::npos) continue;
      ++probable;
      QCOMPARE(verdict.bottleneck, Bottleneck::kDevice);
      const std::int64_t endNs = endOf(model.batch());
      QVERIFY2(static_cast<double>(model.idleNs(0, endNs)) < 0.3 * static_cast<double>(endNs),
               qPrintable(QString::number(deviceUs)));
    }
    QVERIFY(probable > 0);
  }

  void aHostThatAssemblesBatches() {
    ModelStep step = evenStep(200);  // 6 ms of work
    step.assemblyNs = 40 * kMs;
    const Verdict verdict = verdictOf(runOf(step, 40).batch());
    QCOMPARE(verdict.bottleneck, Bottleneck::kHost);
    QVERIFY2(verdict.text.find("the host's longest work is batch assembly, ") != std::string::npos,
             verdict.text.c_str());
  }

  void bothInTurns() {
    ModelStep step = evenStep(600);  // 18 ms of work
    step.readsLoss = true;
    step.logNs = 15 * kMs;
    const Findings findings = findProblems(storeOf(runOf(step, 40).batch()));
    const Verdict& verdict = findings.verdict;
    QCOMPARE(verdict.bottleneck, Bottleneck::kTurns);
    QVERIFY(!findings.waitsCostLittle);
    QVERIFY2(verdict.text.find("the host waits for it for ") != std::string::npos,
             verdict.text.c_str());
  }

  /// Only the wait after the last step tells whether the device has kept up.
  void aHostThatWaitsOnlyAtItsEnd() {
    OwnedBatch batch = runOf(evenStep(20), 40).batch();
    batch.syncPoints.clear();
    batch.deviceSpans.clear();
    QCOMPARE(verdictOf(batch).bottleneck, Bottleneck::kUnknown);
    const auto waitFor = [&batch](std::int64_t ms) {
      OwnedBatch waits = batch;
      waits.syncPoints.emplace_back(endOf(batch) + kMs, ms * kMs, 4, 40U, kCopy, kNoId, kNoId,
                                    kTrainingThread, events::SyncKind::ScalarRead,
                                    events::Phase::None, std::uint8_t{0});
      LiveStore store;
      store.apply(helloOf(WorkStart::kEager));
      waits.completeUpToNs = endOf(batch) + (ms + 2) * kMs;
      store.apply(waits.view());
      return findProblems(store).verdict;
    };
    const Verdict host = waitFor(1);
    QCOMPARE(host.bottleneck, Bottleneck::kHost);
    QVERIFY2(host.text.find("it waits for the device for ") != std::string::npos,
             host.text.c_str());
    QCOMPARE(waitFor(400).bottleneck, Bottleneck::kUnknown);
  }

  /// Of a single wait only what takes most of the steps' time tells that the device is behind.
  void aSingleLongWait() {
    const auto waitFor = [](std::int64_t ms) {
      OwnedBatch batch;
      std::int64_t nowMs = 0;
      for (std::uint32_t step = 1; step <= 30; ++step) {
        const std::int64_t waitMs = step == 20 ? ms : 0;
        batch.steps.push_back(stepAt(step, nowMs, 2 + waitMs, 64));
        if (waitMs > 0) {
          batch.syncPoints.emplace_back((nowMs + 2) * kMs, waitMs * kMs, 4, step, kCopy, kNoId,
                                        kNoId, kTrainingThread, events::SyncKind::ScalarRead,
                                        events::Phase::None, std::uint8_t{0});
        }
        nowMs += 2 + waitMs;
      }
      return verdictOf(batch);
    };
    QCOMPARE(waitFor(30).bottleneck, Bottleneck::kUnknown);
    const Verdict behind = waitFor(400);
    QCOMPARE(behind.bottleneck, Bottleneck::kDevice);
    QVERIFY2(behind.text.find("the device is 400 ms behind") != std::string::npos,
             behind.text.c_str());
  }

  void aPauseIsNoTimeOfTheTraining() {
    OwnedBatch batch = runOf(evenStep(1000), 40).batch();
    const OwnedBatch later = batch;
    constexpr std::int64_t kPauseNs = 3'600'000 * kMs;
    const std::int64_t shiftNs = endOf(batch) + kPauseNs;
    for (const events::StepRecord& each : later.steps) {
      batch.steps.emplace_back(each.begin_ns() + shiftNs, each.duration_ns(), 1, 1, -1,
                               each.step() + 40, 16, 64, 1024, 0, 0, 0);
    }
    for (const events::SyncPoint& each : later.syncPoints) {
      batch.syncPoints.emplace_back(each.begin_ns() + shiftNs, each.duration_ns(), 4,
                                    each.step() + 40, kCopy, kNoId, kNoId, kTrainingThread,
                                    each.kind(), each.phase(), std::uint8_t{1});
    }
    for (const events::PhaseSpan& each : later.phases) {
      batch.phases.emplace_back(each.begin_ns() + shiftNs, each.duration_ns(), each.step() + 40,
                                kTrainingThread, each.phase());
    }
    for (const auto& [ns, kind] : {std::pair(shiftNs - kPauseNs, events::MarkerKind::Paused),
                                   std::pair(shiftNs, events::MarkerKind::Resumed)}) {
      batch.markers.emplace_back(ns, 0, 0, 40U, kNoId, kind);
    }
    QCOMPARE(verdictOf(batch).bottleneck, Bottleneck::kDevice);
  }

  void moreTimeOutsideOfSteps() {
    JudgedRun run;
    run.stepMs = 20;
    run.deviceMs = 15;
    const Verdict verdict = run.judge().verdict;
    QCOMPARE(verdict.bottleneck, Bottleneck::kOutsideSteps);
    QVERIFY2(verdict.text.find("they take 4") != std::string::npos &&
                 verdict.text.find("between steps") != std::string::npos,
             verdict.text.c_str());
  }

  void whereNothingWaitsItSaysThatNothingTells() {
    OwnedBatch batch = runOf(evenStep(200), 40).batch();
    batch.syncPoints.clear();
    batch.deviceSpans.clear();
    const Verdict verdict = verdictOf(batch);
    QCOMPARE(verdict.bottleneck, Bottleneck::kUnknown);
    QVERIFY2(verdict.text.find("is not known: no wait of the host tells") != std::string::npos,
             verdict.text.c_str());
  }

  void noneOnTheCpuAndOfAFewSteps() {
    QVERIFY(verdictOf(runOf(evenStep(1000), 4).batch()).text.empty());
    LiveStore store;
    Hello hello;
    hello.device.selected = "cpu";
    store.apply(hello);
    const QueueModel model = runOf(evenStep(100), 40);
    store.apply(model.batch().view());
    QVERIFY(findProblems(store).verdict.text.empty());
  }
};

HIGHWATER_TEST(TestVerdict, QCoreApplication)
#include "tst_verdict.moc"

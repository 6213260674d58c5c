#include <QtTest>

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
    const QueueModel model = runOf(evenStep(1000), 40);
    const Verdict verdict = verdictOf(model.batch());
    QCOMPARE(verdict.bottleneck, Bottleneck::kDevice);
    QVERIFY2(verdict.text.starts_with("The device is the bottleneck: it is busy for "),
             verdict.text.c_str());
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
    const Verdict verdict = verdictOf(runOf(step, 40).batch());
    QCOMPARE(verdict.bottleneck, Bottleneck::kTurns);
    QVERIFY2(verdict.text.find("the host waits for it for ") != std::string::npos,
             verdict.text.c_str());
  }

  void aHostThatIsNeverWaitedFor() {
    OwnedBatch batch = runOf(evenStep(20), 40).batch();
    batch.syncPoints.clear();
    batch.deviceSpans.clear();
    const Verdict verdict = verdictOf(batch);
    QCOMPARE(verdict.bottleneck, Bottleneck::kHost);
    QVERIFY2(verdict.text.find("it waits for the device for ") != std::string::npos,
             verdict.text.c_str());
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

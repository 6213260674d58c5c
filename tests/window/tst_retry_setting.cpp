#include <QTest>

#include "core/exit_codes.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "window/retry_setting.h"

using namespace highwater;
using window::settingAfterOutOfMemory;
using window::settingText;

namespace {

/// A run whose batch doubles from 16 to 32 at step 30, and that ends after `steps` steps.
analysis::LiveStore runThatEnds(RunEnd::Reason reason, int exitCode, std::uint32_t steps = 60) {
  analysis::LiveStore store;
  test::feed(test::makeSampleRun({.steps = steps, .ended = false}), store);
  RunEnd end;
  end.reason = reason;
  end.exitCode = exitCode;
  end.message = "out of memory";
  store.apply(end);
  return store;
}

analysis::LiveStore outOfMemory(std::uint32_t steps = 60) {
  return runThatEnds(RunEnd::Reason::kFailed, kExitEndedEarly, steps);
}

}  // namespace

class TestRetrySetting : public QObject {
  Q_OBJECT

 private slots:
  void isTheLastThatFitted() {
    const analysis::LiveStore store = outOfMemory();
    QCOMPARE(store.knobs().batchSize, 32u);
    const auto setting = settingAfterOutOfMemory(store);
    QVERIFY(setting);
    QCOMPARE(setting->batchSize, 16u);
    QCOMPARE(setting->sequenceLength, 64u);
    QCOMPARE(setting->lossEvery, store.knobs().lossEvery);
    QCOMPARE(settingText(*setting, store.knobs()), QString("batch 16"));
  }

  void isHalfWhereNothingSmallerFitted() {
    const auto setting = settingAfterOutOfMemory(outOfMemory(20));
    QVERIFY(setting);
    QCOMPARE(setting->batchSize, 8u);
    // A run that failed in its first step.
    analysis::LiveStore none;
    RunDescription run;
    run.knobs = {1, 512, 10};
    none.apply(run);
    RunEnd end;
    end.reason = RunEnd::Reason::kFailed;
    end.exitCode = kExitEndedEarly;
    none.apply(end);
    const auto shorter = settingAfterOutOfMemory(none);
    QVERIFY(shorter);
    QCOMPARE(shorter->batchSize, 1u);
    QCOMPARE(shorter->sequenceLength, 256u);
    QCOMPARE(settingText(*shorter, run.knobs), QString("length 256"));
    QCOMPARE(settingText({2, 256, 10}, run.knobs), QString("batch 2, length 256"));
  }

  void isOnlyForRunsThatRanOutOfMemory() {
    QVERIFY(!settingAfterOutOfMemory({}));
    QVERIFY(!settingAfterOutOfMemory(runThatEnds(RunEnd::Reason::kFinished, kExitDone)));
    QVERIFY(!settingAfterOutOfMemory(runThatEnds(RunEnd::Reason::kFailed, kExitFailed)));
    QVERIFY(!settingAfterOutOfMemory(runThatEnds(RunEnd::Reason::kExited, kExitEndedEarly)));
  }
};

HIGHWATER_TEST(TestRetrySetting, QCoreApplication)
#include "tst_retry_setting.moc"

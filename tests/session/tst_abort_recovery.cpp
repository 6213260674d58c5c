#include <signal.h>

#include <QTest>

#include "session/abort_recovery.h"
#include "session/checkpoint_files.h"
#include "support/test_program.h"

using namespace highwater;
using session::AbortRecovery;
using session::CheckpointFiles;

namespace {

AbortRecovery::Ended killed(std::optional<std::uint32_t> checkpoint, std::uint32_t lastStep,
                            std::uint32_t batch) {
  AbortRecovery::Ended ended;
  ended.end.reason = RunEnd::Reason::kCrashed;
  ended.end.signal = SIGABRT;
  ended.checkpointStep = checkpoint;
  ended.lastStep = lastStep;
  ended.knobs.batchSize = batch;
  ended.knobs.sequenceLength = 64;
  return ended;
}

}  // namespace

class TestAbortRecovery : public QObject {
  Q_OBJECT

 private slots:
  void isForSignalsAlone() {
    RunEnd end;
    for (const auto reason :
         {RunEnd::Reason::kFinished, RunEnd::Reason::kStopped, RunEnd::Reason::kFailed,
          RunEnd::Reason::kExited, RunEnd::Reason::kHung, RunEnd::Reason::kAborted}) {
      end.reason = reason;
      end.signal = SIGKILL;  // of a worker that did not stop in time, or hung
      QVERIFY(!AbortRecovery::isAbort(end));
    }
    end.reason = RunEnd::Reason::kCrashed;
    QVERIFY(AbortRecovery::isAbort(end));
  }

  void halvesTheBatch() {
    AbortRecovery recovery;
    const auto next = recovery.after(killed(7, 9, 24));
    QVERIFY(next);
    QCOMPARE(next->fromStep, 7u);
    QCOMPARE(next->knobs.batchSize, 12u);
    QCOMPARE(next->knobs.sequenceLength, 64u);
    const auto after = recovery.after(killed(20, 20, 1));
    QVERIFY(after);
    QCOMPARE(after->knobs.batchSize, 1u);
  }

  void beginsAnewBeforeTheFirstStep() {
    AbortRecovery recovery;
    const auto next = recovery.after(killed(std::nullopt, 0, 16));
    QVERIFY(next);
    QCOMPARE(next->fromStep, 0u);
    QCOMPARE(next->knobs.batchSize, 8u);
    const auto none = AbortRecovery().after(killed(std::nullopt, 5, 16));
    QVERIFY(!none);
    QVERIFY(none.error().message.find("no checkpoint") != std::string::npos);
  }

  void stopsWithoutProgress() {
    AbortRecovery recovery;
    QVERIFY(recovery.after(killed(1, 8, 16)));
    QVERIFY(recovery.after(killed(2, 9, 8)));  // a checkpoint before the step of the first abort
    const auto third = recovery.after(killed(9, 9, 4));
    QVERIFY(!third);
    QVERIFY2(third.error().message.find("3 times in a row without a checkpoint beyond step 9") !=
                 std::string::npos,
             third.error().message.c_str());
  }

  void goesOnAsLongAsThereIsProgress() {
    AbortRecovery recovery;
    for (std::uint32_t step = 10; step < 500; step += 10) {
      const auto next = recovery.after(killed(step, step + 2, 16));
      QVERIFY(next);
      QCOMPARE(next->fromStep, step);
    }
  }

  void filesLeaveNothingBehind() {
    const auto files = CheckpointFiles::create();
    QVERIFY(files);
    QVERIFY(!(*files)->step());
    const auto both = (*files)->descriptors();
    QVERIFY(both[0] >= 10 && both[1] >= 10 && both[0] != both[1]);
    auto writer = CheckpointSlots::Writer::begin(CheckpointSlots(both), 12);
    QVERIFY(writer && writer->append("state", 5) && writer->commit());
    QCOMPARE((*files)->step(), std::optional(12u));
  }

  void continuesWithTheSettingsInEffect() {
    session::LaunchOptions options;
    options.batchSize = 64;
    options.steps = 100;
    SetKnobs early, late;
    early.atStep = 20;
    late.atStep = 50;
    options.scheduledKnobs = {early, late};
    RunDescription run;
    run.preset = "base";
    run.knobs.memoryFraction = 1.7;
    Knobs knobs = run.knobs;
    knobs.batchSize = 8;
    knobs.sequenceLength = 32;
    knobs.precision = Precision::kBFloat16;
    auto next = session::continuedOptions(options, run, knobs, 30, "run.highwater");
    QCOMPARE(next.preset, QString("base"));
    QCOMPARE(next.batchSize, 8u);
    QCOMPARE(next.sequenceLength, 32u);
    QCOMPARE(next.precision, Precision::kBFloat16);
    QCOMPARE(next.steps, 100u);
    QCOMPARE(next.memoryFraction, 0.0);  // as the environment says
    QCOMPARE(next.continues, QString("run.highwater"));
    QCOMPARE(next.scheduledKnobs.size(), std::size_t{1});
    QCOMPARE(next.scheduledKnobs[0].atStep, 50u);
    knobs.memoryFraction = 0.5;
    QCOMPARE(session::continuedOptions(options, run, knobs, 30, "x").memoryFraction, 0.5);
    options.device = "cpu";
    QCOMPARE(session::continuedOptions(options, run, knobs, 30, "x").memoryFraction, 0.0);
  }
};

HIGHWATER_TEST(TestAbortRecovery, QCoreApplication)
#include "tst_abort_recovery.moc"

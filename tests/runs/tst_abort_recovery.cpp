#include <signal.h>

#include "run/abort_recovery.h"
#include "session/checkpoint_files.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::run;

namespace {

AbortRecovery::Ended killed(std::optional<std::uint32_t> checkpoint, std::uint32_t lastStep,
                            std::uint32_t batch) {
  AbortRecovery::Ended ended;
  ended.end.reason = RunEnd::Reason::kCrashed;
  ended.end.signal = SIGABRT;
  ended.checkpointStep = checkpoint;
  ended.lastStep = ended.begunStep = lastStep;
  ended.launched.afterAbort = session::AfterAbort::kRestart;
  ended.recording = QStringLiteral("run.highwater");
  ended.run.emplace();
  ended.knobs.batchSize = batch;
  ended.knobs.sequenceLength = 64;
  return ended;
}

/// Of a worker that was killed before it had read the checkpoint.
AbortRecovery::Ended killedAtStart(const AbortRecovery::Next& started) {
  AbortRecovery::Ended ended = killed(started.fromStep, 0, 0);
  ended.launched = started.options;
  ended.run.reset();
  return ended;
}

/// What comes after an end that can be continued.
AbortRecovery::Next nextAfter(AbortRecovery& recovery, const AbortRecovery::Ended& ended) {
  auto next = recovery.after(ended);
  return next && *next ? **next : AbortRecovery::Next{};
}

}  // namespace

class TestAbortRecovery : public QObject {
  Q_OBJECT

 private slots:
  void isForSignalsAlone() {
    AbortRecovery::Ended ended = killed(7, 9, 24);
    for (const auto reason :
         {RunEnd::Reason::kFinished, RunEnd::Reason::kStopped, RunEnd::Reason::kFailed,
          RunEnd::Reason::kExited, RunEnd::Reason::kHung, RunEnd::Reason::kAborted}) {
      ended.end.reason = reason;
      ended.end.signal = SIGKILL;  // of a worker that did not stop in time, or hung
      const auto next = AbortRecovery().after(ended);
      QVERIFY(next && !*next);
    }
    ended.end.reason = RunEnd::Reason::kCrashed;
    ended.launched.afterAbort = session::AfterAbort::kStop;
    const auto next = AbortRecovery().after(ended);
    QVERIFY(next && !*next);
  }

  void halvesTheBatch() {
    AbortRecovery recovery;
    const auto next = nextAfter(recovery, killed(7, 9, 24));
    QCOMPARE(next.fromStep, 7u);
    QCOMPARE(next.options.batchSize, 12u);
    QCOMPARE(next.options.sequenceLength, 64u);
    QCOMPARE(
        next.options.continues,
        QString("run.highwater, whose worker was killed by signal 6 (SIGABRT); batch 24 → 12"));
    QCOMPARE(nextAfter(recovery, killed(20, 20, 1)).options.batchSize, 1u);
  }

  void beginsAnewBeforeTheFirstStep() {
    AbortRecovery recovery;
    const auto next = nextAfter(recovery, killed(std::nullopt, 0, 16));
    QCOMPARE(next.fromStep, 0u);
    QCOMPARE(next.options.batchSize, 8u);
    QCOMPARE(next.options.continues, QString());
    const auto none = AbortRecovery().after(killed(std::nullopt, 5, 16));
    QVERIFY(!none);
    QVERIFY(none.error().message.find("no checkpoint") != std::string::npos);
  }

  void startsAgainWhatDidNotBeginAStep() {
    AbortRecovery recovery;
    const auto first = nextAfter(recovery, killed(7, 9, 24));
    QVERIFY(!first.startsAgain);
    for (int round = 0; round < 2; ++round) {
      AbortRecovery::Next next = first;
      for (int i = 1; i < AbortRecovery::kMostStarts; ++i) {
        next = nextAfter(recovery, killedAtStart(next));
        QVERIFY(next.startsAgain);
        QCOMPARE(next.fromStep, 7u);
        QCOMPARE(next.options.batchSize, 12u);
        QCOMPARE(next.options.continues, first.options.continues);
      }
      if (round == 1) break;
      // A worker that trains ends the row. This is the second abort, not the sixth.
      QVERIFY(nextAfter(recovery, killed(7, 9, 12)).options.batchSize == 6);
    }
    const auto last = recovery.after(killedAtStart(first));
    QVERIFY(!last);
    QVERIFY2(last.error().message.find("5 new workers in a row were killed before they began") !=
                 std::string::npos,
             last.error().message.c_str());
  }

  void doesNotStartTheFirstWorkerAgain() {
    AbortRecovery::Ended ended = killed(std::nullopt, 0, 16);
    ended.run.reset();
    const auto next = AbortRecovery().after(ended);
    QVERIFY(next && !*next);
  }

  void countsAWorkerThatBeganItsStep() {
    AbortRecovery recovery;
    (void)recovery.after(killed(7, 9, 24));
    AbortRecovery::Ended ended = killed(7, 0, 12);
    ended.begunStep = 8;
    const auto next = nextAfter(recovery, ended);
    QVERIFY(!next.startsAgain);
    QCOMPARE(next.options.batchSize, 6u);
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
      QCOMPARE(nextAfter(recovery, killed(step, step + 2, 16)).fromStep, step);
    }
  }

  void filesLeaveNothingBehind() {
    const auto files = session::CheckpointFiles::create();
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
    QCOMPARE(next.preset, std::string("base"));
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

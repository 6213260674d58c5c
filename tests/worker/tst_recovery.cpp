#include "support/test_program.h"
#include "worker/training/recovery.h"

using namespace highwater;
using worker::Recovery;

namespace {

Knobs knobsWith(OutOfMemoryPolicy policy, std::uint32_t batch = 8) {
  Knobs knobs;
  knobs.batchSize = batch;
  knobs.sequenceLength = 64;
  knobs.outOfMemory = policy;
  return knobs;
}

}  // namespace

class TestRecovery : public QObject {
  Q_OBJECT

 private slots:
  void halvesUntilOneSampleIsLeft() {
    Recovery recovery;
    Knobs knobs = knobsWith(OutOfMemoryPolicy::kHalve);
    for (const std::uint32_t half : {4u, 2u, 1u}) {
      const auto change = recovery.afterOutOfMemory(3, knobs, "no room");
      QVERIFY(change);
      QCOMPARE(change->batchSize, std::optional(half));
      knobs.batchSize = half;
    }
    const auto end = recovery.afterOutOfMemory(3, knobs, "no room");
    QVERIFY(!end);
    QCOMPARE(end.error().code, ErrorCode::kOutOfMemory);
    QCOMPARE(
        end.error().message,
        std::string("step 3 ran out of memory with batch size 1, sequence length 64: no room"));
  }

  void triesTheSameSettingThreeTimes() {
    Recovery recovery;
    const Knobs knobs = knobsWith(OutOfMemoryPolicy::kRetry);
    for (int i = 0; i < 2; ++i) {
      const auto change = recovery.afterOutOfMemory(7, knobs, "no room");
      QVERIFY(change && !change->batchSize);
    }
    const auto end = recovery.afterOutOfMemory(7, knobs, "no room");
    QVERIFY(!end);
    QVERIFY2(end.error().message.find("3 times in a row with batch size 8") != std::string::npos,
             end.error().message.c_str());
  }

  void startsAfreshAfterATrainedStepAndWithAnotherSetting() {
    Recovery recovery;
    QVERIFY(!recovery.trained());
    const Knobs knobs = knobsWith(OutOfMemoryPolicy::kRetry);
    for (int round = 0; round < 5; ++round) {
      QVERIFY(recovery.afterOutOfMemory(7, knobs, "no room"));
      QVERIFY(recovery.afterOutOfMemory(7, knobs, "no room"));
      QCOMPARE(recovery.trained(), std::optional<std::uint32_t>(8));
      QVERIFY(!recovery.trained());
    }
    QVERIFY(recovery.afterOutOfMemory(7, knobs, "no room"));
    QVERIFY(recovery.afterOutOfMemory(7, knobs, "no room"));
    // The user has changed it meanwhile.
    QVERIFY(recovery.afterOutOfMemory(7, knobsWith(OutOfMemoryPolicy::kRetry, 6), "no room"));
  }

  void stopsWithTheMessageAlone() {
    Recovery recovery;
    const auto end = recovery.afterOutOfMemory(1, knobsWith(OutOfMemoryPolicy::kStop), "no room");
    QVERIFY(!end);
    QCOMPARE(end.error().message, std::string("no room"));
  }
};

HIGHWATER_TEST(TestRecovery, QCoreApplication)
#include "tst_recovery.moc"

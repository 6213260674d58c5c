// What a recording keeps of a sweep, read back from its notes.

#include "core/units.h"
#include "support/test_program.h"
#include "tuning/sweep.h"

using namespace highwater;
using namespace highwater::tuning;

namespace {

SweptSetting measuredSetting() {
  SweptSetting each;
  each.setting = {32, 128};
  each.predicted = {412 * kMiB, 398 * kMiB, 431 * kMiB, Basis::kRequests};
  each.peakDriver = 415 * kMiB;
  each.peakCurrent = 390 * kMiB + kMiB / 2;
  each.safe = true;
  each.tokensPerS = 1234.5;
  each.lowerQuartile = 1200;
  each.upperQuartile = 1260.25;
  each.stepMs = 20.12;
  each.reason = "the largest | that is certain";
  return each;
}

std::string endNote(std::optional<Setting> best, bool complete) {
  return endNoteOf({.complete = complete, .best = best, .reason = "it is the fastest"});
}

SweptSetting leftOut(Setting setting, const Prediction& predicted, const std::string& reason) {
  SweptSetting left{{.setting = setting}, predicted, reason};
  left.leftOut = true;
  return left;
}

}  // namespace

class TestRecordedSweep : public QObject {
  Q_OBJECT

 private slots:
  /// What was left out keeps its prediction and its reason, and is no measured setting.
  void keepsWhatWasLeftOut() {
    const SweptSetting known =
        leftOut({512, 64}, {40 * kMiB, 30 * kMiB, 90 * kMiB, Basis::kBound}, "it may {take} more");
    const SweptSetting unknown = leftOut({1, 512}, {}, "nothing is known of what it would take");
    for (const SweptSetting& each : {known, unknown}) QVERIFY(isSweepNote(noteOf(0, each)));
    const auto sweep = sweepOf({noteOf(1, measuredSetting()), noteOf(0, known), noteOf(0, unknown),
                                endNote(Setting{32, 128}, true)});
    QVERIFY(sweep && sweep->ended && sweep->settings.size() == 1);
    QCOMPARE(sweep->leftOut.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      const SweptSetting& read = sweep->leftOut[i];
      const SweptSetting& wrote = i == 0 ? known : unknown;
      QVERIFY(read.leftOut && wrote.leftOut);
      QCOMPARE(read.setting, wrote.setting);
      QCOMPARE(read.predicted.upper, wrote.predicted.upper);
      QCOMPARE(read.reason, wrote.reason);
    }
    // The next sweep has its own.
    const auto next = sweepOf({noteOf(1, measuredSetting()), noteOf(0, known),
                               endNote(Setting{32, 128}, true), noteOf(1, measuredSetting())});
    QVERIFY(next && next->leftOut.empty() && next->settings.size() == 1);
  }

  /// A second sweep that measured nothing: what it left out is its own.
  void keepsWhatASecondSweepLeftOut() {
    const SweptSetting first = leftOut({512, 64}, {}, "too large");
    const SweptSetting second = leftOut({1, 512}, {}, "too slow");
    const auto sweep =
        sweepOf({noteOf(1, measuredSetting()), noteOf(0, first), endNote(Setting{32, 128}, true),
                 noteOf(0, second), endNote({}, false)});
    QVERIFY(sweep && sweep->ended && !sweep->best && sweep->settings.empty());
    QCOMPARE(sweep->leftOut.size(), 1U);
    QCOMPARE(sweep->leftOut.front().setting, second.setting);
    QCOMPARE(sweep->leftOut.front().reason, second.reason);
  }

  void readsWhatItWrote() {
    const SweptSetting wrote = measuredSetting();
    const auto sweep = sweepOf({"a note of the user", noteOf(1, wrote)});
    QVERIFY(sweep && !sweep->ended && sweep->settings.size() == 1);
    const SweptSetting& read = sweep->settings.front();
    QCOMPARE(read.setting, wrote.setting);
    QCOMPARE(read.predicted.bytes, wrote.predicted.bytes);
    QCOMPARE(read.predicted.lower, wrote.predicted.lower);
    QCOMPARE(read.predicted.upper, wrote.predicted.upper);
    QCOMPARE(read.peakDriver, wrote.peakDriver);
    QCOMPARE(read.peakCurrent, wrote.peakCurrent);
    QVERIFY(read.safe && !read.outOfMemory);
    QCOMPARE(read.tokensPerS, wrote.tokensPerS);
    QCOMPARE(read.upperQuartile, wrote.upperQuartile);
    QCOMPARE(read.stepMs, wrote.stepMs);
    QCOMPARE(read.reason, wrote.reason);
    QVERIFY(std::abs(*read.error() - (412.0 / 415 - 1)) < 1e-9);
  }

  void readsWhatIsNotKnown() {
    SweptSetting bare;
    bare.setting = {7, 1};
    bare.outOfMemory = true;
    const auto sweep = sweepOf({noteOf(1, bare)});
    QVERIFY(sweep && sweep->settings.size() == 1);
    QCOMPARE(sweep->settings[0].setting, bare.setting);
    QVERIFY(sweep->settings[0].outOfMemory && !sweep->settings[0].safe);
    QVERIFY(!sweep->settings[0].error());
    QVERIFY(sweep->settings[0].reason.empty());
  }

  void readsTheEndOfTheLastSweep() {
    const SweptSetting each = measuredSetting();
    const auto sweep = sweepOf(
        {noteOf(1, each), endNote({}, false), noteOf(1, each), endNote(Setting{32, 128}, true)});
    QVERIFY(sweep && sweep->ended && sweep->complete);
    QCOMPARE(sweep->settings.size(), std::size_t{1});
    QCOMPARE(*sweep->best, (Setting{32, 128}));
    QCOMPARE(sweep->reason, std::string("it is the fastest"));
    const auto none = sweepOf({noteOf(1, each), endNote({}, false)});
    QVERIFY(none && none->ended && !none->complete && !none->best);
    QCOMPARE(none->settings.size(), std::size_t{1});
  }

  /// A setting that was measured again has one row, where it had it, with what was found last.
  void readsASettingThatWasMeasuredAgain() {
    const SweptSetting first = measuredSetting();
    SweptSetting second = first, again = first;
    second.setting.batch *= 2;
    again.tokensPerS = 2 * first.tokensPerS;
    const auto sweep = sweepOf({noteOf(1, first), noteOf(2, second), noteOf(3, again)});
    QVERIFY(sweep && sweep->settings.size() == 2);
    QCOMPARE(sweep->settings[0].setting, first.setting);
    QCOMPARE(sweep->settings[0].tokensPerS, again.tokensPerS);
    QCOMPARE(sweep->settings[1].setting, second.setting);
  }

  void ignoresNotesOfAnotherForm() {
    for (const char* note :
         {"", "Sweep", "Sweep {", "Sweep 1: {}", "Sweep 1: []", "sweep the floor {}",
          R"(Sweep 1: {"batch":-1,"complete":true,"reason":7})", R"(Sweep 1: {"batch":[]})",
          "Sweep 1: 32 × 128 | driver 415.0 MiB | safe", "Sweep complete: 8 × 5 recommended | x"}) {
      QVERIFY2(!sweepOf(std::vector<std::string>{note}), note);
    }
  }
};

HIGHWATER_TEST(TestRecordedSweep, QCoreApplication)
#include "tst_recorded_sweep.moc"

// What a recording keeps of a sweep, read back from its notes.
#include <QTest>
#include <cmath>

#include "core/units.h"
#include "support/test_program.h"
#include "tuning/sweep_notes.h"

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

SweepResult resultOf(std::optional<Setting> best, bool complete) {
  SweepResult result;
  if (best) result.best.emplace().memory.setting = *best;
  result.complete = complete;
  result.reason = "it is the fastest";
  return result;
}

}  // namespace

class TestSweepNotes : public QObject {
  Q_OBJECT

 private slots:
  /// What was left out keeps its prediction and its reason, and is no measured setting.
  void keepsWhatWasLeftOut() {
    const LeftOutSetting known{{512, 64},
                               {40 * kMiB, 30 * kMiB, 90 * kMiB, Basis::kBound},
                               "it may take up to 90 MiB | and more"};
    const LeftOutSetting unknown{{1, 512}, {}, "nothing is known of what it would take"};
    for (const LeftOutSetting& each : {known, unknown}) QVERIFY(isSweepNote(noteOf(each)));
    const auto sweep = sweepOf({noteOf(1, measuredSetting()), noteOf(known), noteOf(unknown),
                                noteOf(resultOf(Setting{32, 128}, true))});
    QVERIFY(sweep && sweep->ended && sweep->settings.size() == 1);
    QCOMPARE(sweep->leftOut.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      const SweptSetting& read = sweep->leftOut[i];
      const SweptSetting wrote = rowOf(i == 0 ? known : unknown);
      QVERIFY(read.leftOut && wrote.leftOut);
      QCOMPARE(read.setting, wrote.setting);
      QCOMPARE(read.predicted.upper, wrote.predicted.upper);
      QCOMPARE(read.reason, wrote.reason);
    }
    // The next sweep has its own.
    const auto next =
        sweepOf({noteOf(1, measuredSetting()), noteOf(known),
                 noteOf(resultOf(Setting{32, 128}, true)), noteOf(1, measuredSetting())});
    QVERIFY(next && next->leftOut.empty() && next->settings.size() == 1);
  }

  /// A second sweep that measured nothing: what it left out is its own.
  void keepsWhatASecondSweepLeftOut() {
    const LeftOutSetting first{{512, 64}, {}, "too large"}, second{{1, 512}, {}, "too slow"};
    const auto sweep = sweepOf({noteOf(1, measuredSetting()), noteOf(first),
                                noteOf(resultOf(Setting{32, 128}, true)), noteOf(second),
                                noteOf(resultOf({}, false))});
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
    QVERIFY(std::abs(read.tokensPerS - wrote.tokensPerS) < 0.1);
    QVERIFY(std::abs(read.upperQuartile - wrote.upperQuartile) < 0.1);
    QVERIFY(std::abs(read.stepMs - wrote.stepMs) < 0.01);
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
    const auto sweep = sweepOf({noteOf(1, each), noteOf(2, each), noteOf(resultOf({}, false)),
                                noteOf(1, each), noteOf(resultOf(Setting{32, 128}, true))});
    QVERIFY(sweep && sweep->ended && sweep->complete);
    QCOMPARE(sweep->settings.size(), std::size_t{1});
    QCOMPARE(*sweep->best, (Setting{32, 128}));
    QCOMPARE(sweep->reason, std::string("it is the fastest"));
    const auto none = sweepOf({noteOf(1, each), noteOf(resultOf({}, false))});
    QVERIFY(none && none->ended && !none->complete && !none->best);
    QCOMPARE(none->settings.size(), std::size_t{1});
  }

  void ignoresNotesOfAnotherForm() {
    for (const char* note : {"", "Sweep", "Sweep 1", "Sweep 1: ", "Sweep x: 1 × 2",
                             "Sweep 1: 0 × 5", "Sweep 1: 8 × 5 and more", "Sweep complete: ",
                             "Sweep complete: 8 × 5", "Sweep complete: 8 × 5 recommended",
                             "sweep the floor", "Sweep 99999999999999999999999: 1 × 1"}) {
      QVERIFY2(!sweepOf(std::vector<std::string>{note}), note);
    }
  }
};

HIGHWATER_TEST(TestSweepNotes, QCoreApplication)
#include "tst_sweep_notes.moc"

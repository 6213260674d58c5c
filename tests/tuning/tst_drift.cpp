// What a numeric difference between the devices means for the loss.

#include "support/test_program.h"
#include "tuning/drift.h"

using namespace highwater::tuning;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

ErrorSize errorOf(double rms, double expected = 1) {
  ErrorSize size;
  size.elements = 100;
  size.maxAbs = 3 * rms;
  size.maxRel = 3 * rms / expected;
  size.rmsError = rms;
  size.rmsExpected = expected;
  return size;
}

/// Four batches on which MPS is off by `off`, the CPU by 1e-7, and which differ by about 0.1.
Drift driftOff(double off) {
  Drift drift;
  drift.cpuPrecision = drift.mpsPrecision = "float32";
  const double losses[] = {1.0, 1.1, 1.2, 1.3};
  for (const double loss : losses) drift.losses.push_back({loss, loss + off, loss - 1e-7});
  drift.outputs = {{"tokens", errorOf(off / 10), errorOf(1e-7)},
                   {"layers.0", errorOf(off), errorOf(1e-7)}};
  drift.gradients = {{"layers.0", errorOf(off), errorOf(1e-7)}};
  return drift;
}

DriftVerdict verdictOf(const Drift& drift) {
  return judgeDrift(drift).verdict;
}

}  // namespace

class TestDrift : public QObject {
  Q_OBJECT

 private slots:
  void verdictFollowsTheDifference() {
    QCOMPARE(verdictOf(driftOff(0)), DriftVerdict::kEqual);
    QCOMPARE(verdictOf(driftOff(2e-7)), DriftVerdict::kRounding);
    // More than rounding, and below a tenth of what batches differ by.
    QCOMPARE(verdictOf(driftOff(1e-4)), DriftVerdict::kBeyond);
    QCOMPARE(verdictOf(driftOff(0.05)), DriftVerdict::kMatters);
    QCOMPARE(verdictOf(driftOff(-0.05)), DriftVerdict::kMatters);
  }

  void thresholdComesFromRounding() {
    const DriftJudgement judged = judgeDrift(driftOff(1e-4));
    // The CPU's error against float64 is larger than the loss times 2^-24.
    QVERIFY(std::abs(judged.rounding - 1e-7) < 1e-12);
    QCOMPARE(judged.threshold, kRoundingFactor * judged.rounding);
    QVERIFY(std::abs(judged.difference - 1e-4) < 1e-12);
    QVERIFY(std::abs(judged.relative - 1e-4) < 1e-9);
    QVERIFY(std::abs(judged.batchSpread - std::sqrt(0.05 / 3)) < 1e-12);
    // Where the CPU happens to have no error, the loss's own roundoff counts.
    Drift exact = driftOff(1e-4);
    for (LossOfBatch& each : exact.losses) each.float64 = each.cpu;
    QCOMPARE(judgeDrift(exact).rounding, 1.3 * std::ldexp(1.0, -24));
    // bfloat16 rounds so much that the same difference is nothing.
    exact.cpuPrecision = exact.mpsPrecision = "bfloat16";
    QCOMPARE(verdictOf(exact), DriftVerdict::kRounding);
    QCOMPARE(judgeDrift(exact).rounding, 1.3 / 256);
  }

  void roundoffIsHalfTheDistanceOfNumbers() {
    QCOMPARE(unitRoundoff("float32"),
             static_cast<double>(std::numeric_limits<float>::epsilon()) / 2);
    QCOMPARE(unitRoundoff("float16"), 1.0 / 2048);
    QCOMPARE(unitRoundoff("int8"), 0.0);
  }

  void namesTheFirstModuleBeyondRounding() {
    QCOMPARE(judgeDrift(driftOff(2e-7)).firstBeyond, std::nullopt);
    QCOMPARE(judgeDrift(driftOff(1e-6)).firstBeyond.value_or(""), std::string("layers.0"));
    QCOMPARE(judgeDrift(driftOff(1e-4)).firstBeyond.value_or(""), std::string("tokens"));
    Drift lost = driftOff(0);
    lost.outputs[0].mps.nonFinite = 1;
    QCOMPARE(judgeDrift(lost).firstBeyond.value_or(""), std::string("tokens"));
  }

  void aLostLossMatters() {
    Drift drift = driftOff(0);
    drift.losses[2].mps = kNaN;
    QCOMPARE(verdictOf(drift), DriftVerdict::kMatters);
    drift.losses[1].cpu = kNaN;
    QCOMPARE(verdictOf(drift), DriftVerdict::kUnknown);
  }

  /// Without float64 only the roundoff of the loss itself is known, and a model adds up more.
  void withoutFloat64TheRestIsUnknown() {
    for (const auto& [off, expected] :
         {std::pair(1e-7, DriftVerdict::kRounding), std::pair(1e-5, DriftVerdict::kUnknown)}) {
      Drift drift = driftOff(off);
      drift.noFloat64 = "no kernel";
      for (LossOfBatch& each : drift.losses) each.float64.reset();
      QCOMPARE(verdictOf(drift), expected);
    }
  }

  void withoutLossesNothingIsKnown() { QCOMPARE(verdictOf(Drift()), DriftVerdict::kUnknown); }

  /// An equal loss does not hide gradients that differ.
  void equalMeansEveryBit() {
    Drift drift = driftOff(0);
    drift.gradients[0].mps = errorOf(1e-9);
    QCOMPARE(verdictOf(drift), DriftVerdict::kRounding);
  }
};

HIGHWATER_TEST(TestDrift, QCoreApplication)
#include "tst_drift.moc"

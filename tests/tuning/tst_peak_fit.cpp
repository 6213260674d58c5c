#include "support/test_program.h"
#include "tuning/measured_peaks.h"
#include "tuning/peak_fit.h"

using namespace highwater;
using namespace highwater::tuning;

namespace {

constexpr double kMi = 1024.0 * 1024;

/// A step's memory by the formula, distorted as the allocator does.
struct Truth {
  double fixed = 0, perToken = 0, perScore = 0;
  double noise = 0;  ///< largest relative deviation
  double reuse = 0;  ///< 0 to 1: how much of the possible excess there is

  double smooth(Setting s) const {
    const auto tokens = static_cast<double>(s.tokens());
    return fixed + perToken * tokens + perScore * tokens * s.length;
  }
  template <typename Random>
  double measured(Setting s, Random& random) const {
    std::uniform_real_distribution<double> within(-1, 1), share(0, 1);
    const double bytes = smooth(s) * (1 + noise * within(random));
    const double most = std::min(kReuseExcess, kReuseShare * (bytes - fixed));
    return bytes + std::max(0.0, most) * reuse * share(random);
  }
};

template <typename Random>
double magnitude(Random& random, double from, double to) {
  return std::exp(std::uniform_real_distribution<double>(std::log(from), std::log(to))(random));
}

template <typename Random>
Setting anySetting(Random& random) {
  return {1 + static_cast<std::uint32_t>(random() % 128),
          16 * (1 + static_cast<std::uint32_t>(random() % 32))};
}

}  // namespace

class TestPeakFit : public QObject {
  Q_OBJECT

 private slots:
  void needsAPoint() {
    QVERIFY(!PeakFit::make({}));
    const PeakPoint unknown{{16, 64}, 0};
    QVERIFY(!PeakFit::make({&unknown, 1}));
  }

  void recoversTheFormula() {
    const Truth truth{.fixed = 14 * kMi, .perToken = 300'000, .perScore = 700};
    std::vector<PeakPoint> points;
    for (const Setting s : {Setting{32, 128}, {64, 128}, {64, 256}, {16, 512}, {128, 64}}) {
      points.push_back({s, truth.smooth(s)});
    }
    const auto fit = PeakFit::make(points);
    QVERIFY(fit);
    QVERIFY(std::abs(fit->fixed() / truth.fixed - 1) < 1e-3);
    QVERIFY(std::abs(fit->perToken() / truth.perToken - 1) < 1e-3);
    QVERIFY(std::abs(fit->perScore() / truth.perScore - 1) < 1e-3);
    QVERIFY(fit->medianError() < 1e-3);
  }

  /// One point bounds all others: at most everything grows, at least nothing does.
  void onePointGivesBounds() {
    const PeakPoint only{{32, 128}, 8 * kReuseExcess};
    const auto fit = PeakFit::make({&only, 1});
    QVERIFY(fit);
    const Range twice = fit->at({64, 128});
    QVERIFY(twice.upper >= 2 * only.bytes);
    QVERIFY(twice.lower <= only.bytes);
    const Range longer = fit->at({32, 256});
    QVERIFY(longer.upper >= 4 * only.bytes && longer.upper < 4.5 * only.bytes);
    const Range half = fit->at({16, 128});
    QVERIFY(half.lower <= only.bytes / 2 && half.upper >= only.bytes);
  }

  void knowsWhatIsFixed() {
    const PeakPoint only{{32, 128}, 1000 * kMi};
    const auto fit = PeakFit::make({&only, 1}, 600 * kMi);
    QVERIFY(fit);
    QVERIFY(fit->fixedRange().lower >= 600 * kMi * 0.999);
    QVERIFY(fit->at({64, 128}).upper < 1600 * kMi);
    QVERIFY(fit->at({1, 128}).lower >= 600 * kMi * 0.999);
  }

  /// For models, settings and distortions of all kinds: the bounds hold the truth at least as often
  /// as they promise, and coefficients are never negative.
  void boundsHold() {
    std::mt19937_64 random(11);
    std::size_t held = 0, asked = 0;
    for (int run = 0; run < 400; ++run) {
      const Truth truth{.fixed = magnitude(random, 1 * kMi, 2000 * kMi),
                        .perToken = run % 5 == 0 ? 0 : magnitude(random, 1e3, 1e6),
                        .perScore = run % 3 == 0 ? 0 : magnitude(random, 1, 1e4),
                        .noise = run % 2 == 0 ? 0.005 : 0.018,
                        .reuse = run % 4 == 0 ? 0.0 : 1.0};
      std::vector<PeakPoint> points;
      const auto count = 1 + random() % 6;
      for (std::uint64_t i = 0; i < count; ++i) {
        const Setting setting = anySetting(random);
        points.push_back({setting, truth.measured(setting, random)});
      }
      const auto fit = PeakFit::make(points, run % 2 == 0 ? truth.fixed * 0.5 : 0);
      QVERIFY(fit);
      QVERIFY(fit->fixed() >= 0 && fit->perToken() >= 0 && fit->perScore() >= 0);
      for (int i = 0; i < 20; ++i) {
        const Setting setting = anySetting(random);
        const Range range = fit->at(setting);
        QVERIFY(range.lower <= range.likely && range.likely <= range.upper);
        const double bytes = truth.measured(setting, random);
        ++asked;
        held += range.lower <= bytes && bytes <= range.upper ? 1 : 0;
      }
    }
    QVERIFY2(held >= asked * 95 / 100, qPrintable(QString("%1 of %2").arg(held).arg(asked)));
  }

  /// With more settings the bounds tighten: they are no mere guesses.
  void morePointsTellMore() {
    const Truth truth{.fixed = 200 * kMi, .perToken = 400'000, .perScore = 900};
    std::vector<PeakPoint> points;
    double before = std::numeric_limits<double>::infinity();
    for (const Setting s : {Setting{16, 128}, {64, 128}, {32, 512}, {128, 256}}) {
      points.push_back({s, truth.smooth(s)});
      const Range range = PeakFit::make(points)->at({160, 256});
      const double width = range.upper - range.lower;
      QVERIFY(width < before);
      before = width;
    }
    QVERIFY(before < 0.12 * truth.smooth({160, 256}));
  }

  /// What was measured on the simulated device, where reuse makes small steps not even monotone.
  void holdsForMeasuredPeaks() {
    using test::kMeasuredPeaks;
    std::mt19937_64 random(5);
    std::size_t held = 0, asked = 0;
    for (int run = 0; run < 300; ++run) {
      std::vector<PeakPoint> points;
      const auto count = 1 + random() % 5;
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto& each = kMeasuredPeaks[random() % kMeasuredPeaks.size()];
        points.push_back({{each.batch, each.length}, static_cast<double>(each.current)});
      }
      const auto fit = PeakFit::make(points);
      for (const auto& each : kMeasuredPeaks) {
        const Range range = fit->at({each.batch, each.length});
        ++asked;
        const auto bytes = static_cast<double>(each.current);
        held += range.lower <= bytes && bytes <= range.upper ? 1 : 0;
      }
    }
    QVERIFY2(held >= asked * 95 / 100, qPrintable(QString("%1 of %2").arg(held).arg(asked)));
  }

  /// From 4,000 tokens on, three settings tell all others within 8 %.
  void isAccurateForLargeSteps() {
    using test::kMeasuredPeaks;
    std::vector<PeakPoint> points;
    for (const auto& each : kMeasuredPeaks) {
      const Setting s{each.batch, each.length};
      if (s == Setting{256, 32} || s == Setting{64, 256} || s == Setting{64, 128}) {
        points.push_back({s, static_cast<double>(each.current)});
      }
    }
    QCOMPARE(points.size(), 3u);
    const auto fit = PeakFit::make(points);
    for (const auto& each : kMeasuredPeaks) {
      if (each.batch * each.length < 4000) continue;
      const double off =
          fit->at({each.batch, each.length}).likely / static_cast<double>(each.current) - 1;
      QVERIFY2(std::abs(off) < 0.08,
               qPrintable(QString("%1 × %2: %3").arg(each.batch).arg(each.length).arg(off)));
    }
  }

  void quantiles() {
    QCOMPARE(studentQuantile(1), 12.706);
    QCOMPARE(studentQuantile(30), 2.042);
    for (std::size_t i = 1; i < 200; ++i) QVERIFY(studentQuantile(i + 1) < studentQuantile(i));
    QVERIFY(std::abs(studentQuantile(1000) - 1.962) < 0.002);
  }
};

HIGHWATER_TEST(TestPeakFit, QCoreApplication)
#include "tst_peak_fit.moc"

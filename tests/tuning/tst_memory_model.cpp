#include "core/units.h"
#include "support/test_program.h"
#include "support/text.h"
#include "tuning/device_limits.h"
#include "tuning/measured_peaks.h"
#include "tuning/memory_model.h"

using namespace highwater;
using namespace highwater::tuning;
using namespace highwater::test;

namespace {

constexpr MemoryLimits kLimits = test::limitsOf(4 * kGiB, 6 * kGiB);

Observation measured(std::uint32_t batch, std::uint32_t length) {
  for (const auto& each : kMeasuredPeaks) {
    if (each.batch == batch && each.length == length) return observationOf(each);
  }
  qFatal("not measured");
}

MemoryModel fitted(const std::vector<Observation>& observations,
                   const MemoryLimits& limits = kLimits) {
  auto model = MemoryModel::fit(observations, limits);
  if (!model) qFatal("%s", model.error().message.c_str());
  return *model;
}

}  // namespace

class TestMemoryModel : public QObject {
  Q_OBJECT

 private slots:
  void withoutMemoryThereIsNoModel() {
    const auto none = MemoryModel::fit({}, kLimits);
    QVERIFY(!none);
    QVERIFY(contains(none.error().message, "no step"));
    const std::vector<Observation> empty{{.setting = {16, 64}}};
    QVERIFY(!MemoryModel::fit(empty, kLimits));
  }

  void saysWhatItKnows() {
    QVERIFY(contains(fitted({measured(16, 64)}).confidence().text,
                     "Only batch 16, length 64 was measured"));
    QVERIFY(
        contains(fitted({measured(16, 64)}).confidence().text, "measure batch 32, length 64 next"));
    const MemoryModel sameTokens = fitted({measured(16, 64), measured(32, 32)});
    QVERIFY(!sameTokens.confidence().extrapolatesBatch);
    QVERIFY(contains(sameTokens.confidence().text, "same number of tokens"));
    const MemoryModel oneLength = fitted({measured(16, 64), measured(64, 64), measured(128, 64)});
    QVERIFY(oneLength.confidence().extrapolatesBatch);
    QVERIFY(!oneLength.confidence().extrapolatesLength);
    QVERIFY(contains(oneLength.confidence().text, "Only length 64"));
    const MemoryModel both = fitted({measured(64, 64), measured(128, 64), measured(16, 256)});
    QVERIFY(both.confidence().extrapolatesLength);
    QVERIFY(both.confidence().error > 0);
    QVERIFY(contains(both.confidence().text, "3 settings"));
  }

  void whatWasMeasuredIsNotPredicted() {
    const MemoryModel model = fitted({measured(64, 64), measured(16, 256)});
    QCOMPARE(model.current({64, 64}).bytes, measured(64, 64).peakCurrent);
    QCOMPARE(model.driver({64, 64}).bytes, measured(64, 64).peakDriver);
    QCOMPARE(model.driver({64, 64}).basis, Basis::kMeasured);
    QCOMPARE(model.driver({65, 64}).basis, Basis::kBound);
    QVERIFY(contains(model.sentence({64, 64}), "takes"));
    QVERIFY(contains(model.sentence({96, 64}), "would take about"));
  }

  /// Whichever settings were measured, the bounds of driver hold the heaps that the others took.
  void driverBoundsHold() {
    std::mt19937_64 random(3);
    std::size_t held = 0, asked = 0;
    for (int run = 0; run < 200; ++run) {
      std::vector<Observation> seen;
      const auto count = 1 + random() % 5;
      for (std::uint64_t i = 0; i < count; ++i) {
        seen.push_back(observationOf(kMeasuredPeaks[random() % kMeasuredPeaks.size()]));
      }
      const MemoryModel model = fitted(seen);
      for (const auto& each : kMeasuredPeaks) {
        const Prediction driver = model.driver({each.batch, each.length});
        QVERIFY(driver.lower <= driver.bytes && driver.bytes <= driver.upper);
        ++asked;
        held += driver.lower <= each.driver && each.driver <= driver.upper ? 1 : 0;
      }
    }
    QVERIFY2(held >= asked * 95 / 100, qPrintable(QString("%1 of %2").arg(held).arg(asked)));
  }

  void headroomHasFourLevels() {
    QCOMPARE(headroomOf(4 * kGiB, kLimits), Headroom::kSafe);
    QCOMPARE(headroomOf(4 * kGiB + 1, kLimits), Headroom::kAboveRecommended);
    QCOMPARE(headroomOf(6 * kGiB, kLimits), Headroom::kAboveLowWatermark);
    QCOMPARE(headroomOf(7 * kGiB, kLimits), Headroom::kAboveHighWatermark);
    QCOMPARE(headroomOf(7 * kGiB, {}), Headroom::kSafe);
    MemoryLimits unlimited = kLimits;
    unlimited.highWatermarkRatio = unlimited.lowWatermarkRatio = 0;
    QCOMPARE(headroomOf(70 * kGiB, unlimited), Headroom::kAboveRecommended);
  }

  void headroomGrowsWithTheSetting() {
    const MemoryModel model = fitted({measured(64, 64), measured(128, 64), measured(16, 256)});
    QCOMPARE(model.headroom({8, 64}), Headroom::kSafe);
    QCOMPARE(model.headroom({4096, 512}), Headroom::kAboveHighWatermark);
    QVERIFY(contains(model.sentence({4096, 512}), "above the high watermark"));
    Headroom before = Headroom::kSafe;
    for (std::uint32_t batch = 256; batch <= 4096; batch += 64) {
      const Headroom here = model.headroom({batch, 256});
      QVERIFY(here >= before);
      before = here;
    }
  }

  /// By their own definition, against a walk over all values.
  void largestSafeIsTheLargest() {
    const MemoryModel model = fitted({measured(64, 64), measured(128, 64), measured(16, 256)});
    for (const double reserve : {0.0, 0.1, 0.3, 0.6}) {
      const auto found = model.largestSafeBatch(256, 2000, reserve);
      QVERIFY(found);
      for (std::uint32_t batch = 1; batch <= 2000; ++batch) {
        if (model.driver({batch, 256}).upper <= model.safeBytes(reserve)) {
          QVERIFY(batch <= *found);
        }
      }
      QVERIFY(model.driver({*found, 256}).upper <= model.safeBytes(reserve));
      const auto length = model.longestSafeLength(64, 4096, reserve);
      QVERIFY(length);
      QVERIFY(model.driver({64, *length}).upper <= model.safeBytes(reserve));
      QVERIFY(model.driver({64, *length + 1}).upper > model.safeBytes(reserve));
    }
    QCOMPARE(model.largestSafeBatch(8, 16).value_or(0), 16u);
    QVERIFY(!model.largestSafeBatch(64, 100, 1.0));
  }

  /// One exact point: what grows is more likely than that nothing does.
  void onePointGrows() {
    for (std::uint64_t bytes = 50 * kMiB; bytes < kGiB; bytes += 7'777'777) {
      const Observation one{.setting = {250, 64}, .peakCurrent = bytes, .steps = 3};
      const auto model = MemoryModel::fit(std::vector{one}, kLimits, 3 * kMiB);
      QVERIFY(model);
      QVERIFY(model->formula().perToken() > 0);
      QVERIFY(model->fixedPart().bytes < bytes / 2);
      const Range range = model->formula().perTokenRange();
      QVERIFY(range.lower == 0 && range.upper >= model->formula().perToken());
      QVERIFY(model->formula().perScoreRange().upper > 0);
    }
  }

  /// No smaller setting is bounded by more than a larger measured one and a heap.
  void aMeasuredSettingBoundsSmallerOnes() {
    for (const auto& larger : kMeasuredPeaks) {
      const MemoryModel model = fitted({observationOf(larger)});
      for (const auto& each : kMeasuredPeaks) {
        const Setting setting{each.batch, each.length};
        if (setting.length > larger.length ||
            setting.tokens() > Setting{larger.batch, larger.length}.tokens())
          continue;
        QVERIFY(model.driver(setting).upper <= larger.driver * 102 / 100 + 32 * kMiB);
        QVERIFY(model.current(setting).upper <= larger.current * 102 / 100 + 32 * kMiB);
        QVERIFY(model.driver(setting).upper >= each.driver);
      }
    }
    // Near the limit: half of what is safe is safe, and a quarter is.
    const MemoryLimits near{
        .recommendedBytes = 100 * kMiB, .lowWatermarkRatio = 1, .highWatermarkRatio = 1};
    const MemoryModel model = fitted({measured(16, 64)}, near);
    QVERIFY(contains(model.sentence({8, 32}), ": safe"));
    QVERIFY(contains(model.sentence({8, 64}), ": safe"));
    QVERIFY(model.largestSafeBatch(64, 100, 0.05).value_or(0) >= 16);
  }

  /// The advice names nothing that failed, is not taken by the run, or would not fit.
  void advisesWhatCanBeMeasured() {
    const std::vector<Observation> seen{measured(128, 64)};
    const auto adviceOf = [&](const MemoryLimits& limits, RunBounds bounds) {
      return MemoryModel::fit(seen, limits, 0, std::nullopt, std::move(bounds))->confidence().text;
    };
    QVERIFY(contains(adviceOf(kLimits, {}), "measure batch 256, length 64 next"));
    for (const std::string& text :
         {adviceOf(kLimits, {.outOfMemory = {{2000, 64}, {256, 64}}}),
          adviceOf(kLimits, {.maxBatch = 200}),
          adviceOf({.recommendedBytes = 1300 * kMiB, .highWatermarkRatio = 1}, {})}) {
      QVERIFY2(contains(text, "measure batch 64, length 64 next"), text.c_str());
    }
    const MemoryModel model =
        *MemoryModel::fit(seen, kLimits, 0, std::nullopt, {.outOfMemory = {{140, 64}}});
    QCOMPARE(model.largestSafeBatch(64, 4096).value_or(0), 139U);
  }

  void withoutALimitNothingIsSafe() {
    const MemoryModel model = fitted({measured(64, 64)}, {});
    QCOMPARE(model.safeBytes(), 0u);
    QVERIFY(!model.largestSafeBatch(64, 1000));
    QVERIFY(!contains(model.sentence({128, 64}), "safe"));
  }

  void theCacheOfLargerSettingsIsNoEvidence() {
    Observation inflated = measured(8, 64);
    inflated.driverIncludesEarlier = true;
    inflated.peakDriver = 2 * kGiB;
    const MemoryModel model = fitted({inflated, measured(64, 64)});
    QVERIFY(model.driver({8, 64}).basis == Basis::kBound);
    QVERIFY(model.driver({8, 64}).upper <= 2 * kGiB);
    QVERIFY(model.driver({8, 64}).bytes < 200 * kMiB);
  }

  /// A prediction for more is never below what less has taken.
  void isNoLessThanWhatWasMeasuredBelow() {
    Observation high = measured(16, 64);
    high.peakDriver = 900 * kMiB;
    const MemoryModel model = fitted({measured(8, 64), high}, {.recommendedBytes = kGiB});
    for (const std::uint32_t batch : {17U, 20U, 24U}) {
      const Prediction driver = model.driver({batch, 64});
      QVERIFY2(driver.bytes >= 900 * kMiB, driver.text().c_str());
      QVERIFY(driver.lower >= 868 * kMiB && driver.upper >= driver.bytes);
    }
    // Fewer rows of the same length, and shorter ones, need not.
    QVERIFY(model.driver({12, 64}).bytes < 900 * kMiB);
    QVERIFY(model.driver({16, 32}).bytes < 900 * kMiB);
  }

  /// In a process that goes on nothing is safe while its cache is above the limit, and everything
  /// is at least what is held.
  void goesOnFromWhatIsHeld() {
    const MemoryModel afresh = fitted({measured(16, 64), measured(32, 64)});
    const std::uint64_t safe = afresh.safeBytes();
    const auto largest = afresh.largestSafeBatch(64, 4096);
    QVERIFY(largest && *largest > 32);
    const MemoryModel full = afresh.goingOn({safe + kMiB, {{{16, 64}, safe + kMiB}}});
    QVERIFY(!full.largestSafeBatch(64, 4096) && !full.longestSafeLength(16, 512));
    QVERIFY(full.driver({1, 64}).bytes >= safe + kMiB);
    QVERIFY2(contains(full.sentence({8, 64}), "with the cache that the process holds"),
             full.sentence({8, 64}).c_str());
    QVERIFY(contains(full.sentence({8, 64}), "in a fresh process"));
    const MemoryModel part = afresh.goingOn({safe / 2, {{{16, 64}, safe / 2}}});
    const auto fewer = part.largestSafeBatch(64, 4096);
    QVERIFY(fewer && *fewer < *largest && *fewer >= 16);
    QCOMPARE(part.driver({16, 64}).bytes, safe / 2);
    QVERIFY(part.driver({32, 64}).lower >= safe / 2);
    QVERIFY(part.driver({32, 64}).upper >= afresh.driver({32, 64}).upper);
    QCOMPARE(part.driverAfresh({32, 64}).bytes, afresh.driver({32, 64}).bytes);
    // Without a reading of what is held now: what was trained. Less than what was trained is known
    // to take no more than that, and a heap.
    const MemoryModel unread = afresh.goingOn({0, {{{32, 64}, safe / 2}}});
    QVERIFY(unread.driver({8, 64}).lower >= safe / 2);
    QVERIFY(unread.driver({8, 64}).upper <= safe / 2 + safe / 50 + 32 * kMiB);
    // Nothing held: a fresh process.
    QCOMPARE(afresh.goingOn({}).driver({64, 64}).bytes, afresh.driver({64, 64}).bytes);
    QVERIFY(contains(afresh.sentence({64, 64}), "in a fresh process"));
  }

  /// Memory that another setting has left in the cache was not measured at this one.
  void measuredIsWhatTheSettingItselfTook() {
    const MemoryModel afresh = fitted({measured(8, 64), measured(64, 64)});
    const MemoryModel held =
        afresh.goingOn({900 * kMiB, {{{8, 64}, 100 * kMiB}, {{64, 64}, 900 * kMiB}}});
    const Prediction small = held.driver({8, 64}), large = held.driver({64, 64});
    QCOMPARE(small.basis, Basis::kBound);
    QCOMPARE(large.basis, Basis::kMeasured);
    // Nothing takes less than what is held.
    for (const Prediction& each : {small, large}) {
      QCOMPARE(each.bytes, 900 * kMiB);
      QCOMPARE(each.lower, 900 * kMiB);
      QVERIFY(each.upper >= each.bytes && each.upper < 950 * kMiB);
    }
    QVERIFY2(contains(held.sentence({8, 64}), "would take about"), held.sentence({8, 64}).c_str());
    // Trained again with the cache of the other one, it has taken as much itself.
    const MemoryModel again =
        afresh.goingOn({900 * kMiB, {{{8, 64}, 900 * kMiB}, {{64, 64}, 900 * kMiB}}});
    QCOMPARE(again.driver({8, 64}).basis, Basis::kMeasured);
  }

  /// Where the length changes from step to step, each length leaves blocks, and does so again in
  /// the next run: half the batch has shown how many.
  void countsTheCacheOfManyLengths() {
    std::vector<Observation> churn;
    const std::vector<std::uint32_t> lengths{62, 30, 44, 18, 57, 25, 51, 37};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      Observation each = measured(16, 64);
      each.setting.length = lengths[i];
      each.peakDriver = (90 + 14 * i) * kMiB;
      each.driverIncludesEarlier = i > 0;
      churn.push_back(each);
    }
    const MemoryModel model = fitted(churn, {.recommendedBytes = 512 * kMiB});
    for (const Setting setting : {Setting{16, 62}, Setting{16, 64}, Setting{32, 64}}) {
      const Prediction driver = model.driver(setting);
      QVERIFY2(driver.bytes >= 188 * kMiB, driver.text().c_str());
      QVERIFY(driver.lower <= driver.bytes && driver.bytes <= driver.upper);
    }
    QVERIFY(model.driver({64, 64}).upper > 3 * 188 * kMiB);
    QVERIFY(model.largestSafeBatch(64, 4096).value_or(0) < 64);
    // Half of a batch, or shorter ones alone, were not measured.
    QVERIFY(model.driver({8, 64}).lower < 188 * kMiB);
  }
};

HIGHWATER_TEST(TestMemoryModel, QCoreApplication)
#include "tst_memory_model.moc"

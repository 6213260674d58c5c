#include "analysis/memory_forecast.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::analysis;
using namespace highwater::test;

namespace {

constexpr double kMi = 1024.0 * 1024;
constexpr std::int64_t kStepNs = 200'000'000;

/// A run whose peaks are given by step; a step takes 0.2 s.
LiveStore runOf(const std::vector<double>& peaks, double limit, std::uint32_t everyOther = 0) {
  OwnedBatch batch;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    const auto step = static_cast<std::uint32_t>(i + 1);
    const std::uint32_t length = everyOther > 0 && step % everyOther == 0 ? 256 : 64;
    batch.steps.emplace_back(static_cast<std::int64_t>(i) * kStepNs, kStepNs,
                             static_cast<std::uint64_t>(peaks[i]), 1, -1, step, 16, length,
                             16 * length, 0.0F, 0, 1);
  }
  batch.memorySamples.emplace_back(1, 1, 1, static_cast<std::uint64_t>(limit),
                                   events::SampleOrigin::Timer);
  LiveStore store;
  store.apply(batch.view());
  return store;
}

}  // namespace

class TestMemoryForecast : public QObject {
  Q_OBJECT

 private slots:
  /// The run goes on as it did until it reaches the limit: that time lies within the bounds.
  void theBoundsHoldTheTruth() {
    std::mt19937 random(21);
    int predicted = 0, held = 0, near = 0;
    for (int round = 0; round < 300; ++round) {
      const double slope = (0.2 + 0.01 * static_cast<double>(random() % 100)) * kMi;
      const double noise = static_cast<double>(random() % 20) * kMi;
      std::uniform_real_distribution<double> jitter(-noise / 2, noise / 2);
      const double begin = 700 * kMi, limit = 2048 * kMi;
      std::vector<double> peaks;
      for (unsigned i = 30 + random() % 170; i > 0; --i) {
        const double usual = begin + slope * static_cast<double>(peaks.size()) + jitter(random);
        peaks.push_back(random() % 30 == 0 ? usual + 300 * kMi : usual);  // an outlier
      }
      const LiveStore store = runOf(peaks, limit);
      const auto forecast = forecastMemory(store);
      if (!forecast) continue;
      double level = begin + slope * static_cast<double>(peaks.size() - 1), seconds = 0;
      while (level < limit) {
        level += slope;
        seconds += 0.2;
      }
      ++predicted;
      held += forecast->lowSeconds <= seconds && seconds <= forecast->highSeconds + 0.4;
      near += std::abs(forecast->seconds / seconds - 1) < 0.25;
      QVERIFY(forecast->lowSeconds <= forecast->seconds);
      QVERIFY(forecast->seconds <= forecast->highSeconds);
    }
    QVERIFY2(predicted > 240, qPrintable(QString::number(predicted)));
    QVERIFY2(held > predicted * 0.88, qPrintable(QString("%1 of %2").arg(held).arg(predicted)));
    QVERIFY2(near > predicted * 0.9, qPrintable(QString("%1 of %2").arg(near).arg(predicted)));
  }

  void noiseIsNoGrowth() {
    std::mt19937 random(22);
    int predicted = 0;
    for (int round = 0; round < 400; ++round) {
      std::vector<double> peaks;
      for (int i = 0; i < 120; ++i) {
        peaks.push_back(700 * kMi + static_cast<double>(random() % 50) * kMi);
      }
      predicted += forecastMemory(runOf(peaks, 2048 * kMi)).has_value();
    }
    QVERIFY2(predicted <= 400 * 0.04, qPrintable(QString::number(predicted)));
  }

  void whatGrewOnceIsNoGrowth() {
    std::vector<double> peaks(100, 700 * kMi);
    for (std::size_t i = 50; i < 100; ++i) peaks[i] = 900 * kMi;
    QVERIFY(!forecastMemory(runOf(peaks, 2048 * kMi)));
    QVERIFY(!forecastMemory(runOf(std::vector<double>(100, 700 * kMi), 2048 * kMi)));
  }

  /// Only steps like the newest are compared: another shape needs more without growing.
  void otherShapesDoNotCount() {
    std::vector<double> peaks;
    for (int i = 0; i < 200; ++i) {
      peaks.push_back((i % 5 == 4 ? 1500 : 700) * kMi + i * 0.5 * kMi);
    }
    peaks.push_back(700 * kMi + 200 * 0.5 * kMi);
    const auto forecast = forecastMemory(runOf(peaks, 1000 * kMi, 5));
    QVERIFY(forecast.has_value());
    QVERIFY(std::abs(forecast->seconds - 200 / 0.5 * 0.2) < 4);
    QVERIFY(std::abs(forecast->bytesPerStep / kMi - 0.5) < 0.01);
  }

  void nothingIsSaidWithoutALimitOrAfterTheEnd() {
    std::vector<double> peaks;
    for (int i = 0; i < 100; ++i) peaks.push_back(700 * kMi + i * kMi);
    QVERIFY(forecastMemory(runOf(peaks, 1000 * kMi)));
    QVERIFY(!forecastMemory(runOf(peaks, 0)));
    QVERIFY(!forecastMemory(runOf(peaks, 750 * kMi)));  // reached
    QVERIFY(!forecastMemory(runOf({700 * kMi, 701 * kMi, 702 * kMi}, 1000 * kMi)));
    LiveStore ended = runOf(peaks, 1000 * kMi);
    ended.apply(RunEnd{});
    QVERIFY(!forecastMemory(ended));
    QVERIFY(!forecastMemory(LiveStore()));
    // In more than a day.
    std::vector<double> slow;
    for (int i = 0; i < 100; ++i) slow.push_back(700 * kMi + i * 64);
    QVERIFY(!forecastMemory(runOf(slow, 1000 * kMi)));
  }

  void textsHaveOneUnit() {
    QCOMPARE(MemoryForecast({240, 180, 355, 1}).text(), std::string("about 4 min (3\u20136)"));
    QCOMPARE(MemoryForecast({40, 31, 52, 1}).text(), std::string("about 40 s (31\u201352)"));
    QCOMPARE(MemoryForecast({9000, 8900, 9100, 1}).text(), std::string("about 2.5 h"));
    QCOMPARE(MemoryForecast({120, 119, 121, 1}).text(), std::string("about 2 min"));
  }
};

HIGHWATER_TEST(TestMemoryForecast, QCoreApplication)
#include "tst_memory_forecast.moc"

#include <random>

#include "analysis/ranked_values.h"
#include "analysis/statistics.h"
#include "support/test_program.h"

using namespace highwater::analysis;

class TestStatistics : public QObject {
  Q_OBJECT

 private slots:
  void mediansOfOddAndEvenNumbers() {
    QCOMPARE(medianOf({}), 0.0);
    QCOMPARE(medianOf({7}), 7.0);
    QCOMPARE(medianOf({9, 1, 5}), 5.0);
    QCOMPARE(medianOf({9, 1, 5, 7}), 6.0);
  }

  void aSlopeIgnoresOutliers() {
    std::vector<Point> points;
    for (int i = 0; i < 1000; ++i) points.push_back({double(i), 3.0 * i + 1});
    points[500].y = 1e9;
    QCOMPARE(robustSlope(points), 3.0);
    for (std::size_t i = 0; i < points.size(); i += 50) points[i].y = 1e6;
    QVERIFY(std::fabs(robustSlope(points) - 3.0) < 0.1);
    QVERIFY(std::fabs(steadySlope(points) - 3.0) < 0.1);
    QCOMPARE(robustSlope({}), 0.0);
    QCOMPARE(robustSlope(std::span(points).first(1)), 0.0);
  }

  void aTrendIsToldFromChance() {
    std::vector<double> rising, swinging{81, 85, 81, 85, 84.9, 85, 84.9, 85, 84.9, 85};
    for (int i = 0; i < 10; ++i) rising.push_back(i);
    QVERIFY(trendScore(rising) > 3);
    std::reverse(rising.begin(), rising.end());
    QVERIFY(trendScore(rising) < -3);
    QVERIFY(trendScore(swinging) < 3);
    QCOMPARE(trendScore(std::vector<double>(50, 7.0)), 0.0);
    QCOMPARE(trendScore({}), 0.0);
    // Of a hundred series of noise one in 700 rises by three; with a slope all do.
    std::minstd_rand random(1);
    int chance = 0, found = 0;
    for (int run = 0; run < 100; ++run) {
      std::vector<double> noise, sloped;
      for (int i = 0; i < 60; ++i) {
        noise.push_back(static_cast<double>(random() % 1000));
        sloped.push_back(noise.back() + 30 * i);
      }
      chance += trendScore(noise) >= 3;
      found += trendScore(sloped) >= 3;
    }
    QVERIFY(chance <= 2);
    QCOMPARE(found, 100);
  }

  void growthThatStoppedIsNotSteady() {
    std::vector<Point> points;
    for (int i = 0; i < 100; ++i) points.push_back({double(i), double(std::min(i, 50))});
    QCOMPARE(steadySlope(points), 0.0);
    for (Point& point : points) point.y = 2 * point.x;
    QCOMPARE(steadySlope(points), 2.0);
  }

  void whatRisesAfterABufferIsFull() {
    const auto series = [](int count, double fill, double leak) {
      std::vector<Point> points;
      for (int i = 0; i < count; ++i) {
        points.push_back({double(i), fill * (1 - std::exp(-i / 30.0)) + leak * i});
      }
      return points;
    };
    QCOMPARE(lastingSlope(series(130, 0, 5), 10), 5.0);
    const double afterwards = lastingSlope(series(130, 3000, 5), 10);
    QVERIFY2(afterwards >= 5 && afterwards < 15, qPrintable(QString::number(afterwards)));
    // What is left of a buffer that is nearly full is a part of the slope that it began with.
    QVERIFY(lastingSlope(series(130, 3000, 0), 10) < 5);
    QCOMPARE(lastingSlope(series(9, 0, 5), 10), 0.0);
    QCOMPARE(lastingSlope({}, 10), 0.0);
  }

  /// In any order, and over more values than one chunk holds.
  void ranksAreThoseOfTheSortedValues() {
    RankedValues ranked;
    std::vector<std::int64_t> sorted;
    std::int64_t value = 1;
    for (int i = 0; i < 5000; ++i) {
      value = (value * 48271) % 2147483647;
      ranked.add(value % 3000);
      sorted.push_back(value % 3000);
    }
    std::sort(sorted.begin(), sorted.end());
    QCOMPARE(ranked.size(), sorted.size());
    for (std::size_t rank = 0; rank < sorted.size(); rank += 7) {
      QCOMPARE(ranked.at(rank), sorted[rank]);
    }
    QCOMPARE(ranked.percentile(0), sorted.front());
    QCOMPARE(ranked.percentile(50), sorted[2499]);
    QCOMPARE(ranked.percentile(95), sorted[4749]);
    QCOMPARE(ranked.percentile(100), sorted.back());
    for (const std::int64_t limit : {-1, 0, 1500, 2999, 4000}) {
      const auto below = std::lower_bound(sorted.begin(), sorted.end(), limit) - sorted.begin();
      QCOMPARE(ranked.countBelow(limit), static_cast<std::size_t>(below));
    }
  }
};

HIGHWATER_TEST(TestStatistics, QCoreApplication)
#include "tst_statistics.moc"

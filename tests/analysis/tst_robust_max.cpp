#include "analysis/robust_max.h"
#include "support/test_program.h"

using namespace highwater::analysis;

namespace {

SeriesPyramid seriesOf(const std::vector<double>& values) {
  SeriesPyramid series;
  for (const double value : values) series.append(value);
  return series;
}

}  // namespace

class TestRobustMax : public QObject {
  Q_OBJECT

 private slots:
  void agreesWithBruteForce() {
    std::mt19937 random(2);
    for (int round = 0; round < 500; ++round) {
      std::vector<double> values;
      for (unsigned i = 1 + random() % 600; i > 0; --i) {
        const double usual = 100.0 + random() % 50;
        values.push_back(random() % 9 == 0    ? std::nan("")
                         : random() % 60 == 0 ? usual * static_cast<double>(random() % 100)
                                              : usual);
      }
      const SeriesPyramid series = seriesOf(values);
      const std::size_t begin = random() % values.size();
      const std::size_t end = begin + 1 + random() % (values.size() - begin);
      std::vector<double> sorted;
      for (std::size_t i = begin; i < end; ++i) {
        if (!std::isnan(values[i])) sorted.push_back(values[i]);
      }
      std::sort(sorted.begin(), sorted.end());
      double wanted = sorted.empty() ? 0 : sorted.back();
      if (sorted.size() >= 5) {
        const double high = sorted[std::min((sorted.size() - 1) * 99 / 100, sorted.size() - 2)];
        if (sorted.back() > kFarBeyond * high && high > 0) wanted = high;
      }
      QCOMPARE(robustMax(series, begin, end), wanted);
    }
  }

  void oneCutStepDoesNotSpoilTheScale() {
    std::vector<double> values(20, 240.0);
    values[7] = 90'000;  // a pause
    QCOMPARE(robustMax(seriesOf(values), 0, 20), 240.0);
    values[7] = 500;  // slow, but it fits
    QCOMPARE(robustMax(seriesOf(values), 0, 20), 500.0);
    QCOMPARE(robustMax(seriesOf({1, 1, 1, 9}), 0, 4), 9.0);  // too few to tell
    QCOMPARE(robustMax(seriesOf({std::nan(""), std::nan("")}), 0, 2), 0.0);
    QCOMPARE(robustMax(seriesOf({}), 0, 0), 0.0);
  }

  /// A pattern with the period of the sample is not missed, and moving on does not change it.
  void aSampleOfManyIsLikeAll() {
    std::vector<double> values;
    for (int i = 0; i < 400'000; ++i) values.push_back(i % 98 < 2 ? 900.0 : 100.0);
    values[12'345] = 1e6;
    const SeriesPyramid series = seriesOf(values);
    for (const std::size_t begin : {0u, 1000u, 1001u, 7777u}) {
      QCOMPARE(robustMax(series, begin, begin + 390'000), 900.0);
    }
  }
};

HIGHWATER_TEST(TestRobustMax, QCoreApplication)
#include "tst_robust_max.moc"

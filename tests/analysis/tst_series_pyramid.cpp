#include "analysis/series_pyramid.h"
#include "support/test_program.h"

using highwater::analysis::MinMax;
using highwater::analysis::SeriesPyramid;

namespace {

MinMax bruteForce(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  MinMax sum{std::nan(""), std::nan("")};
  for (std::size_t i = begin; i < end; ++i) {
    if (std::isnan(values[i])) continue;
    if (std::isnan(sum.min) || values[i] < sum.min) sum.min = values[i];
    if (std::isnan(sum.max) || values[i] > sum.max) sum.max = values[i];
  }
  return sum;
}

bool sameValue(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// Compares with brute force on random ranges; the range that differs, or nothing.
QString compare(const SeriesPyramid& pyramid, const std::vector<double>& values,
                std::mt19937& random) {
  if (pyramid.size() != values.size()) return "the size";
  for (int round = 0; round < 300; ++round) {
    std::size_t a = random() % values.size();
    std::size_t b = random() % values.size();
    if (a > b) std::swap(a, b);
    const MinMax got = pyramid.minMax(a, b + 1);
    const MinMax expected = bruteForce(values, a, b + 1);
    if (!sameValue(got.min, expected.min) || !sameValue(got.max, expected.max)) {
      return QString("[%1, %2) of %3").arg(a).arg(b + 1).arg(values.size());
    }
  }
  return {};
}

}  // namespace

class TestSeriesPyramid : public QObject {
  Q_OBJECT

 private slots:
  void oneValue() {
    SeriesPyramid pyramid;
    QVERIFY(pyramid.empty());
    pyramid.append(4);
    QCOMPARE(pyramid.size(), 1u);
    QCOMPARE(pyramid[0], 4.0);
    QCOMPARE(pyramid.minMax(0, 1).min, 4.0);
    QCOMPARE(pyramid.minMax(0, 1).max, 4.0);
  }

  void appendAgreesWithBruteForce_data() {
    QTest::addColumn<int>("size");
    for (const int size : {2, 15, 16, 17, 255, 256, 257, 272, 4095, 4096, 4097, 70'000}) {
      QTest::addRow("%d", size) << size;
    }
  }

  void appendAgreesWithBruteForce() {
    QFETCH(int, size);
    std::mt19937 random(static_cast<unsigned>(size));
    SeriesPyramid pyramid;
    std::vector<double> values;
    for (int i = 0; i < size; ++i) {
      values.push_back(random() % 50 == 0 ? std::nan("") : static_cast<double>(random() % 100'000));
      pyramid.append(values.back());
    }
    QCOMPARE(compare(pyramid, values, random), QString());
  }

  void insertAgreesWithBruteForce() {
    std::mt19937 random(5);
    SeriesPyramid pyramid;
    std::vector<double> values;
    for (int i = 0; i < 3000; ++i) {
      const double value = random() % 20 == 0 ? std::nan("") : static_cast<double>(random());
      const std::size_t index =
          values.size() - random() % (std::min<std::size_t>(values.size(), 40) + 1);
      values.insert(values.begin() + static_cast<std::ptrdiff_t>(index), value);
      pyramid.insert(index, value);
      if (i % 100 == 0) QCOMPARE(compare(pyramid, values, random), QString());
    }
    // And in front of everything.
    values.insert(values.begin(), -1);
    pyramid.insert(0, -1);
    QCOMPARE(compare(pyramid, values, random), QString());
  }

  void setAgreesWithBruteForce() {
    std::mt19937 random(6);
    SeriesPyramid pyramid;
    std::vector<double> values;
    for (int i = 0; i < 5000; ++i) {
      values.push_back(static_cast<double>(random()));
      pyramid.append(values.back());
    }
    for (int i = 0; i < 500; ++i) {
      const std::size_t index = random() % values.size();
      values[index] = static_cast<double>(random());
      pyramid.set(index, values[index]);
    }
    QCOMPARE(compare(pyramid, values, random), QString());
  }

  void nanIsPassedOver() {
    SeriesPyramid pyramid;
    for (int i = 0; i < 600; ++i) pyramid.append(i == 300 ? 7 : std::nan(""));
    QCOMPARE(pyramid.minMax(0, 600).min, 7.0);
    QCOMPARE(pyramid.minMax(0, 600).max, 7.0);
    QVERIFY(std::isnan(pyramid.minMax(0, 300).min));
    QVERIFY(std::isnan(pyramid.minMax(301, 600).max));
  }
};

HIGHWATER_TEST(TestSeriesPyramid, QCoreApplication)
#include "tst_series_pyramid.moc"

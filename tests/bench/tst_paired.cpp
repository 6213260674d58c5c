#include <QtTest>
#include <cmath>
#include <random>

#include "bench/findings.h"
#include "bench/paired.h"
#include "support/test_program.h"

using namespace highwater::bench;

/// The statistics of the benches, on values with known results.
class Paired : public QObject {
  Q_OBJECT

 private slots:
  void blocksRunInTheOrderABBA() {
    std::string order;
    const auto quads = runQuads(
        2, [&] { order += 'a'; }, [&] { order += 'b'; });
    QCOMPARE(order, std::string("ab"
                                "abba"
                                "abba"));
    QCOMPARE(quads.size(), std::size_t(2));
  }

  void aDriftFallsOnBothSides() {
    // Each block takes 1 s longer than the one before; A and B are alike.
    const Quad quad{{1, 1}, {2, 2}, {3, 3}, {4, 4}};
    QCOMPARE(wallRatios({quad}).front(), 1.0);
    QCOMPARE(cpuRatios({quad}).front(), 1.0);
    QCOMPARE(controlRatios({quad}).front(), 2.0 / 3.0);
  }

  void theIntervalHoldsTheMedian_data() {
    QTest::addColumn<int>("count");
    for (const int count : {1, 2, 5, 40, 301}) QTest::addRow("%d values", count) << count;
  }
  void theIntervalHoldsTheMedian() {
    QFETCH(int, count);
    std::mt19937 random(7);
    std::lognormal_distribution<double> noise(0, 0.1);
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(noise(random));
    const Estimate found = estimate(values);
    std::sort(values.begin(), values.end());
    QVERIFY(found.low <= found.median && found.median <= found.high);
    QVERIFY(found.low >= values.front() && found.high <= values.back());
    const std::size_t middle = values.size() / 2;
    const double median = count % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    QCOMPARE(found.median, median);
  }

  void moreSamplesNarrowTheInterval() {
    std::mt19937 random(3);
    std::normal_distribution<double> noise(1, 0.05);
    const auto widthOf = [&](int count) {
      std::vector<double> values;
      for (int i = 0; i < count; ++i) values.push_back(noise(random));
      const Estimate found = estimate(values);
      return found.high - found.low;
    };
    QVERIFY(widthOf(400) < widthOf(12));
  }

  void noValuesAreNoEstimate() {
    QVERIFY(std::isnan(estimate({}).median));
    QCOMPARE(judge(estimate({}), 1.0), Verdict::Inconclusive);
  }

  void theVerdictAdmitsWhatItCannotTell() {
    QCOMPARE(judge({1.05, 1.02, 1.08, 10}, 1.1), Verdict::Met);
    QCOMPARE(judge({1.20, 1.15, 1.25, 10}, 1.1), Verdict::Missed);
    QCOMPARE(judge({1.05, 0.90, 1.30, 10}, 1.1), Verdict::Inconclusive);
    QCOMPARE(judge({1.05, 1.02, 1.08, 4}, 1.1), Verdict::Inconclusive);
  }

  void theJsonHasEveryRow() {
    const Findings findings{"queue",
                            "run",
                            "the \"plain\" CPU",
                            {{"ratio", "small", "×", {0.05, 0.04, 0.06, 12}, 0.1},
                             {"time", "small", "ms", {3, 2, 4, 12}, {}}}};
    const QJsonDocument json = QJsonDocument::fromJson(QByteArray::fromStdString(asJson(findings)));
    QVERIFY(json.isObject());
    QCOMPARE(json["peer"].toString(), QString("the \"plain\" CPU"));
    QCOMPARE(json["rows"].toArray().size(), 2);
    QCOMPARE(json["rows"][0]["verdict"].toString(), QString("met"));
    QVERIFY(json["rows"][1]["goal"].isNull());
    QVERIFY(QString::fromStdString(asTable(findings)).contains("≤ 0.1"));
  }
};

HIGHWATER_TEST(Paired, QCoreApplication)
#include "tst_paired.moc"

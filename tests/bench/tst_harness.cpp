#include "bench/harness.h"
#include "support/test_program.h"

using namespace highwater::bench;

/// The statistics of the benches on values with known results, their goals and their JSON.
class TestHarness : public QObject {
  Q_OBJECT

 private slots:
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

  void aGoalIsForTheRowsOfItsNameAndSetting() {
    std::vector<Row> rows{{"step", "small, cpu", "ms", {3, 2, 4, 12}},
                          {"step", "chatty, cpu", "ms", {3, 2, 4, 12}},
                          {"other", "small, cpu", "ms", {3, 2, 4, 12}},
                          {"step", "small, sim", "ms", {3, 2, 4, 12}, 7}};
    const auto unused =
        applyGoals(rows, {{"step", 1, "small"}, {"step", 2}, {"renamed", 3}, {"other", 4, "sim"}});
    QCOMPARE(rows[0].goal, std::optional(1.0));
    QCOMPARE(rows[1].goal, std::optional(2.0));
    QCOMPARE(rows[2].goal, std::optional<double>());
    QCOMPARE(rows[3].goal, std::optional(7.0));
    QCOMPARE(unused.size(), std::size_t(1));
    QCOMPARE(unused[0].row, std::string("renamed"));
  }

  void theJsonHasEveryRow() {
    const Report report{.bench = "slowdown",
                        .peer = "the \"plain\" CPU",
                        .date = "2026-11-24T09:30:00Z",
                        .commit = "",
                        .processor = "AMD",
                        .cores = 2,
                        .load = 0.5,
                        .rows = {{"ratio", "small", "×", {0.05, 0.04, 0.06, 12}, 0.1},
                                 {"time", "small", "ms", {3, 2, 4, 12}},
                                 exact("count", "all", "", 5, 4),
                                 {"none", "small", "ms", estimate({}), 1}}};
    const QJsonDocument json = QJsonDocument::fromJson(QByteArray::fromStdString(asJson(report)));
    QVERIFY(json.isObject());
    QCOMPARE(json["schema"].toInt(), 2);
    QCOMPARE(json["peer"].toString(), QString("the \"plain\" CPU"));
    QVERIFY(json["commit"].isNull());
    QCOMPARE(json["machine"]["load"].toDouble(), 0.5);
    const QJsonValue rows = json["rows"];
    QCOMPARE(rows.toArray().size(), 4);
    QCOMPARE(rows[0]["low"].toDouble(), 0.04);
    QCOMPARE(rows[0]["verdict"].toString(), QString("met"));
    QVERIFY(rows[1]["goal"].isNull());
    QVERIFY(rows[1]["verdict"].isNull());
    QCOMPARE(rows[2]["value"].toDouble(), 5.0);
    QVERIFY(rows[2]["low"].isNull());
    QCOMPARE(rows[2]["verdict"].toString(), QString("missed"));
    QVERIFY(rows[3]["value"].isNull());
    QCOMPARE(rows[3]["verdict"].toString(), QString("inconclusive"));
  }

  void aQuantileIsOneOfTheValues() {
    const std::vector<double> values{5, 1, 4, 2, 3};
    QCOMPARE(quantile("q", "", "ms", values, 0.5).estimate.median, 3.0);
    QCOMPARE(quantile("q", "", "ms", values, 1).estimate.median, 5.0);
    QCOMPARE(quantile("q", "", "ms", values, 0).estimate.median, 1.0);
  }
};

HIGHWATER_TEST(TestHarness, QCoreApplication)
#include "tst_harness.moc"

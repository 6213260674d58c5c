#include <set>

#include "analysis/facts.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::analysis;

class TestFacts : public QObject {
  Q_OBJECT

 private slots:
  void haveKeysLabelsAndHelp() {
    std::set<std::string_view> keys, labels;
    for (const Fact& fact : facts()) {
      QVERIFY2(keys.insert(fact.key).second, fact.key.data());
      QVERIFY2(labels.insert(fact.label).second, fact.label.data());
      QVERIFY2(fact.brief.size() <= fact.label.size() && !fact.brief.empty(), fact.key.data());
      QVERIFY2(fact.help.ends_with('.'), fact.key.data());
      QVERIFY2(fact.value, fact.key.data());
      QVERIFY2(fact.ofStep || !fact.perStep, fact.key.data());
      QCOMPARE(findFact(fact.key), &fact);
    }
    QCOMPARE(findFact("step_ms"), nullptr);
    QCOMPARE(findFact(""), nullptr);
  }

  /// A key is the path of one value: none is the beginning of another.
  void noKeyContainsAnother() {
    for (const Fact& fact : facts()) {
      for (const Fact& other : facts()) {
        QVERIFY2(!other.key.starts_with(std::string(fact.key) + '.'), fact.key.data());
      }
    }
  }

  /// The parts of a step add up to it.
  void partsOfAStepAddUp() {
    LiveStore store;
    test::feed(test::makeSampleRun({.steps = 30}), store);
    const RunSummary summary = summarize(store);
    double parts = 0;
    for (const Fact& fact : facts()) {
      if (fact.group == FactGroup::kPhase) parts += fact.value(store, summary).value_or(-1);
    }
    QVERIFY(std::abs(parts - summary.stepsMs / static_cast<double>(summary.steps)) < 1e-6);
  }

  void whatWasNotMeasuredIsNotKnown() {
    const LiveStore nothing;
    const RunSummary summary = summarize(nothing);
    for (const Fact& fact : facts()) {
      const auto value = fact.value(nothing, summary);
      // Counts of nothing are known.
      const bool isCount = fact.quantity == Quantity::kCount || fact.key == "duration_ms" ||
                           fact.key == "fallback_ms" || fact.key == "unplanned_sync_ms";
      QVERIFY2(isCount ? value == 0.0 : !value, fact.key.data());
    }
  }

  void texts_data() {
    QTest::addColumn<Quantity>("quantity");
    QTest::addColumn<double>("value");
    QTest::addColumn<QString>("text");
    QTest::newRow("count") << Quantity::kCount << 1234.0 << "1234";
    QTest::newRow("ms") << Quantity::kMilliseconds << 12.34 << "12.3 ms";
    QTest::newRow("s") << Quantity::kMilliseconds << 2400.0 << "2.40 s";
    QTest::newRow("rate") << Quantity::kPerSecond << 20'500.0 << "20.5k";
    QTest::newRow("bytes") << Quantity::kBytes << 3.0 * (1 << 20) << "3.0 MiB";
    QTest::newRow("fewer bytes") << Quantity::kBytes << -3.0 * (1 << 20) << "-3.0 MiB";
    QTest::newRow("bytes a second") << Quantity::kBytesPerSecond << 3.0 * (1 << 20) << "3.0 MiB/s";
    QTest::newRow("share") << Quantity::kShare << 0.925 << "92 %";
    QTest::newRow("small share") << Quantity::kShare << 0.0123 << "1.2 %";
    QTest::newRow("percent") << Quantity::kPercent << 0.0 << "0 %";
    QTest::newRow("plain") << Quantity::kPlain << 0.69314 << "0.693";
  }

  void texts() {
    QFETCH(Quantity, quantity);
    QFETCH(double, value);
    QTEST(QString::fromStdString(factText(quantity, value)), "text");
  }
};

HIGHWATER_TEST(TestFacts, QCoreApplication)
#include "tst_facts.moc"

#include <limits>

#include "analysis/fact_limit.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::analysis;

Q_DECLARE_METATYPE(highwater::analysis::LimitOutcome)

class TestFactLimit : public QObject {
  Q_OBJECT

 private slots:
  void reads_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("key");
    QTest::addColumn<bool>("above");
    QTest::addColumn<int>("of");
    QTest::addColumn<double>("bound");
    const auto row = [](const char* text, const char* key, bool above, FactLimit::Of of,
                        double bound) {
      QTest::newRow(text) << text << key << above << static_cast<int>(of) << bound;
    };
    using Of = FactLimit::Of;
    row("step_ms.p50 > +5 %", "step_ms.p50", true, Of::kShareOfChange, 0.05);
    row("step_ms.p50>+5%", "step_ms.p50", true, Of::kShareOfChange, 0.05);
    row("  tokens_per_s < -10 % ", "tokens_per_s", false, Of::kShareOfChange, -0.1);
    row("step_ms.p95 > +1.5 s", "step_ms.p95", true, Of::kChange, 1500);
    row("step_ms.p95 > +20 ms", "step_ms.p95", true, Of::kChange, 20);
    row("step_ms.p95 > 250", "step_ms.p95", true, Of::kValue, 250);
    row("memory.driver_peak > +64 MiB", "memory.driver_peak", true, Of::kChange, 64.0 * (1 << 20));
    row("memory.driver_peak > 12GiB", "memory.driver_peak", true, Of::kValue, 12.0 * (1 << 30));
    row("tokens_per_s < 20 k", "tokens_per_s", false, Of::kValue, 20'000);
    row("system.low_power_share > 50 %", "system.low_power_share", true, Of::kValue, 0.5);
    row("system.swap_peak_per_s > 100 MiB/s", "system.swap_peak_per_s", true, Of::kValue,
        100.0 * (1 << 20));
    row("gpu_percent.p50 < 80 %", "gpu_percent.p50", false, Of::kValue, 80);
  }

  void reads() {
    QFETCH(QString, text);
    const auto limit = parseFactLimit("--fail-if", text.toStdString());
    QVERIFY2(limit, limit ? "" : limit.error().message.c_str());
    QTEST(QString::fromUtf8(limit->fact->key.data(), qsizetype(limit->fact->key.size())), "key");
    QTEST(limit->above, "above");
    QTEST(static_cast<int>(limit->of), "of");
    QTEST(limit->bound, "bound");
    QCOMPARE(QString::fromStdString(limit->text), text.trimmed());
  }

  void refuses_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("message");
    QTest::newRow("nothing") << ""
                             << "KEY > +5 %";
    QTest::newRow("no sign of comparison") << "step_ms.p50"
                                           << "KEY > +5 %";
    QTest::newRow("no number") << "step_ms.p50 >"
                               << "KEY > +5 %";
    QTest::newRow("a word") << "step_ms.p50 > much"
                            << "KEY > +5 %";
    QTest::newRow("two signs") << "step_ms.p50 > +-5 %"
                               << "KEY > +5 %";
    QTest::newRow("two limits") << "step_ms.p50 > +5 % > 3"
                                << "a unit that step_ms.p50 has: ms or s";
    QTest::newRow("infinite") << "step_ms.p50 > 1e999"
                              << "KEY > +5 %";
    QTest::newRow("misspelt key") << "step_ms.p05 > +5 %"
                                  << "step_ms.p50";
    QTest::newRow("no such key") << "banana > +5 %"
                                 << "--help";
    QTest::newRow("another unit") << "step_ms.p50 > +5 GiB"
                                  << "a unit that step_ms.p50 has";
    QTest::newRow("unsigned share") << "step_ms.p50 > 5 %"
                                    << "+5 %";
    QTest::newRow("hostile") << "step_ms.p50 > +5 %\n"
                             << "a unit";
  }

  void refuses() {
    QFETCH(QString, text);
    const auto limit = parseFactLimit("--fail-if", text.toStdString());
    QVERIFY(!limit);
    QCOMPARE(limit.error().code, ErrorCode::kUsage);
    const QString said = QString::fromStdString(limit.error().message);
    QVERIFY2(said.startsWith("--fail-if is \""), qPrintable(said));
    QFETCH(QString, message);
    QVERIFY2(said.contains(message), qPrintable(said));
  }

  void judges_data() {
    QTest::addColumn<double>("a");
    QTest::addColumn<double>("b");
    QTest::addColumn<double>("noise");
    QTest::addColumn<QString>("text");
    QTest::addColumn<LimitOutcome>("outcome");
    constexpr double kNoNoise = std::numeric_limits<double>::quiet_NaN();
    const auto row = [](const char* name, double a, double b, double noise, const char* text,
                        LimitOutcome outcome) {
      QTest::newRow(name) << a << b << noise << text << outcome;
    };
    using enum LimitOutcome;
    row("slower", 100, 110, 1, "step_ms.p50 > +5 %", kBroken);
    row("a little slower", 100, 104, 1, "step_ms.p50 > +5 %", kKept);
    row("slower by chance", 100, 110, 12, "step_ms.p50 > +5 %", kKept);
    row("faster", 100, 80, 1, "step_ms.p50 > +5 %", kKept);
    row("not faster at all", 100, 100, 0, "step_ms.p50 > -5 %", kBroken);
    row("faster by chance, and less than asked", 100, 98, 3, "step_ms.p50 > -5 %", kBroken);
    row("as fast as asked", 100, 90, 3, "step_ms.p50 > -5 %", kKept);
    row("as much memory where less is asked", 100, 100, kNoNoise, "memory.driver_peak > -64 MiB",
        kBroken);
    row("slower, in ms", 100, 110, 1, "step_ms.p50 > +9 ms", kBroken);
    row("not as much faster as wanted", 100, 99, 0.1, "step_ms.p50 > -5 %", kBroken);
    row("few steps", 100, 110, kNoNoise, "step_ms.p50 > +5 %", kUnknown);
    row("the value needs no noise", 100, 110, kNoNoise, "step_ms.p50 > 105 ms", kBroken);
    row("a peak needs none", 100, 110, kNoNoise, "memory.driver_peak > +5 %", kBroken);
    row("unknown in A", kNoNoise, 110, kNoNoise, "memory.driver_peak > +5 %", kUnknown);
    row("unknown in A, known in B", kNoNoise, 110, kNoNoise, "memory.driver_peak > 5", kBroken);
    row("unknown in B", 110, kNoNoise, kNoNoise, "memory.driver_peak > 5", kUnknown);
    row("from nothing", 0, 5, 1, "per_step.fallback_ms > +5 %", kBroken);
    row("nothing in both", 0, 0, 0, "per_step.fallback_ms > +5 %", kKept);
    row("fewer tokens", 1000, 900, 10, "tokens_per_s < -5 %", kBroken);
  }

  void judges() {
    QFETCH(double, a);
    QFETCH(double, b);
    QFETCH(double, noise);
    QFETCH(QString, text);
    const auto limit = parseFactLimit("--fail-if", text.toStdString());
    QVERIFY(limit);
    Comparison compared;
    compared.facts.push_back({limit->fact, {a, b, noise}});
    QTEST(judge(*limit, compared), "outcome");
    QCOMPARE(judge(*limit, Comparison()), LimitOutcome::kUnknown);
  }
};

HIGHWATER_TEST(TestFactLimit, QCoreApplication)
#include "tst_fact_limit.moc"

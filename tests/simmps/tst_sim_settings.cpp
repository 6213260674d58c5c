#include "simmps/policy/settings.h"

#include "support/test_program.h"

using namespace highwater;
using namespace highwater::simmps;

namespace {

using Variables = std::map<std::string, std::string>;
using Outcome = std::variant<Settings, std::string>;

/// Reads settings on a machine of 16 GiB that can reserve 64 GiB at most.
Outcome read(const Variables& variables) {
  Environment environment;
  environment.value = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  for (const auto& [name, value] : variables) environment.names.push_back(name);
  return readSettings(environment,
                      {16 * kGiB, [](std::uint64_t bytes) { return bytes <= 64 * kGiB; }});
}

QString refusalOf(const Variables& variables) {
  const Outcome outcome = read(variables);
  const auto* error = std::get_if<std::string>(&outcome);
  return error ? QString::fromStdString(*error) : QString();
}

}  // namespace

class SimSettingsTest : public QObject {
  Q_OBJECT

 private slots:
  void defaults() {
    const auto settings = std::get<Settings>(read({}));
    QCOMPARE(settings.limits.recommendedBytes, 12 * kGiB);
    QCOMPARE(settings.limits.highWatermarkRatio, 1.7);
    QCOMPARE(settings.limits.lowWatermarkRatio, 1.4);
    QCOMPARE(settings.maxBufferBytes, 12 * kGiB);
    QVERIFY(settings.asynchronous);
    QVERIFY(!settings.cpuFallback);
    QCOMPARE(settings.systemBytes, 16 * kGiB);
    QCOMPARE(settings.hiddenGrowthBytes + settings.graphCacheBytes + settings.launchDelayNs, 0u);
    QCOMPARE(settings.slowdown, 1.0);
    QVERIFY(settings.missingOps.empty() && settings.ledgerFile.empty());
    QCOMPARE(settings.outOfMemoryAt + settings.hangAt + settings.crashAt, 0u);
  }

  void thisMachineHasMemory() {
    QVERIFY(thisMachine().memoryBytes > 64 * kMiB);
    QVERIFY(thisMachine().canReserve(kMiB));
    QVERIFY(!thisMachine().canReserve(std::uint64_t(1) << 60));
  }

  void emptyIsNotSet() {
    Variables variables;
    for (const SimKnob& knob : kSimKnobs) variables[knob.variable] = "";
    QCOMPARE(std::get<Settings>(read(variables)).limits.recommendedBytes, 12 * kGiB);
  }

  void reads_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<quint64>("bytes");
    QTest::newRow("bytes") << "1073741824" << quint64(kGiB);
    QTest::newRow("MiB") << "512MiB" << quint64(512 * kMiB);
    QTest::newRow("GiB with a space") << "1.5 GiB" << quint64(1536 * kMiB);
    QTest::newRow("KiB") << "20480KiB" << quint64(20 * kMiB);
  }
  void reads() {
    QFETCH(QString, text);
    QFETCH(quint64, bytes);
    const auto settings = std::get<Settings>(read({{kSimRecommendedVariable, text.toStdString()}}));
    QCOMPARE(settings.limits.recommendedBytes, bytes);
  }

  void readsPyTorchsOwn() {
    const auto settings = std::get<Settings>(read({{kMpsHighWatermarkVariable, "0.8"},
                                                   {kMpsLowWatermarkVariable, "0.5"},
                                                   {kMpsFallbackVariable, "1"}}));
    QCOMPARE(settings.limits.highWatermarkRatio, 0.8);
    QCOMPARE(settings.limits.lowWatermarkRatio, 0.5);
    QVERIFY(settings.cpuFallback);
  }

  void fallbackIsOnForEveryNumberButZero_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<bool>("on");
    QTest::newRow("0") << QByteArray("0") << false;
    QTest::newRow("00") << QByteArray("00") << false;
    QTest::newRow("1") << QByteArray("1") << true;
    QTest::newRow("2") << QByteArray("2") << true;
    QTest::newRow("-1") << QByteArray("-1") << true;
  }
  void fallbackIsOnForEveryNumberButZero() {
    QFETCH(QByteArray, text);
    QFETCH(bool, on);
    QCOMPARE(std::get<Settings>(read({{kMpsFallbackVariable, text.data()}})).cpuFallback, on);
  }

  void readsTheKnobs() {
    const auto settings = std::get<Settings>(read({{kSimSystemVariable, "32GiB"},
                                                   {kSimHiddenGrowthVariable, "3MiB"},
                                                   {kSimGraphCacheVariable, "4096"},
                                                   {kSimSlowdownVariable, "2.5"},
                                                   {kSimMissingOpsVariable, "kthvalue, my::op.out"},
                                                   {kSimOutOfMemoryAtVariable, "7"},
                                                   {kSimHangAtVariable, "8"},
                                                   {kSimCrashAtVariable, "9"},
                                                   {kSimQueueVariable, "sync"},
                                                   {kSimNoticesVariable, "late"},
                                                   {kSimLimitVariable, "requests"},
                                                   {kSimOutOfMemoryErrorVariable, "plain"},
                                                   {kSimLedgerVariable, "a b.jsonl"}}));
    QCOMPARE(settings.systemBytes, 32 * kGiB);
    QCOMPARE(settings.limits.recommendedBytes, 24 * kGiB);
    QCOMPARE(settings.maxBufferBytes, 24 * kGiB);
    QCOMPARE(settings.hiddenGrowthBytes, 3 * kMiB);
    QCOMPARE(settings.graphCacheBytes, 4096u);
    QCOMPARE(settings.slowdown, 2.5);
    QCOMPARE(settings.missingOps, (std::vector<std::string>{"aten::kthvalue", "my::op.out"}));
    QCOMPARE(settings.outOfMemoryAt, 7u);
    QCOMPARE(settings.hangAt, 8u);
    QCOMPARE(settings.crashAt, 9u);
    QVERIFY(!settings.asynchronous);
    QVERIFY(settings.lateNotices && settings.limitsRequestsOnly && settings.plainOutOfMemory);
    QCOMPARE(settings.ledgerFile, std::string("a b.jsonl"));
  }

  void defaultsMayBeSaid() {
    const auto settings = std::get<Settings>(read({{kSimQueueVariable, "async"},
                                                   {kSimNoticesVariable, "queue"},
                                                   {kSimLimitVariable, "heaps"},
                                                   {kSimOutOfMemoryErrorVariable, "typed"}}));
    QVERIFY(settings.asynchronous);
    QVERIFY(!settings.lateNotices && !settings.limitsRequestsOnly && !settings.plainOutOfMemory);
  }

  void readsDelays_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<quint64>("ns");
    QTest::newRow("plain") << "20" << quint64(20'000);
    QTest::newRow("us") << "2.5us" << quint64(2'500);
    QTest::newRow("ms with a space") << "1 ms" << quint64(1'000'000);
    QTest::newRow("most") << "1000ms" << quint64(1'000'000'000);
  }
  void readsDelays() {
    QFETCH(QString, text);
    QFETCH(quint64, ns);
    const auto settings = std::get<Settings>(read({{kSimLaunchDelayVariable, text.toStdString()}}));
    QCOMPARE(settings.launchDelayNs, ns);
  }

  void refuses_data() {
    QTest::addColumn<QString>("variable");
    QTest::addColumn<QString>("value");
    const auto add = [](const char* variable, const char* value) {
      QTest::addRow("%s=%s", variable, value) << variable << value;
    };
    for (const char* value :
         {"x", "-1", "0", "15MiB", "2000GiB", "5MB", "1e400", "nan", "12 MiBs", "0x40000000"}) {
      add(kSimRecommendedVariable, value);
    }
    for (const char* value : {"x", "-0.1", "2.1", "inf", "1.7x", "0x1", "1,5"})
      add(kMpsHighWatermarkVariable, value);
    for (const char* value : {"x", "-1", "1.71"}) add(kMpsLowWatermarkVariable, value);
    for (const char* value : {"31MiB", "1025GiB", "all"}) add(kSimSystemVariable, value);
    for (const char* value : {"-1", "1e30", "2 MB"}) {
      add(kSimHiddenGrowthVariable, value);
      add(kSimGraphCacheVariable, value);
    }
    for (const char* value : {"-1", "1001ms", "1s", "us"}) add(kSimLaunchDelayVariable, value);
    for (const char* value : {"0.9", "1001", "2x", "inf"}) add(kSimSlowdownVariable, value);
    for (const char* value : {",", "mm,", "m m", "::mm", "a;b"}) add(kSimMissingOpsVariable, value);
    for (const char* variable :
         {kSimOutOfMemoryAtVariable, kSimHangAtVariable, kSimCrashAtVariable}) {
      for (const char* value : {"0", "-1", "1.5", "99999999999999999999"}) add(variable, value);
    }
    add(kSimQueueVariable, "ASYNC");
    for (const char* variable :
         {kSimNoticesVariable, kSimLimitVariable, kSimOutOfMemoryErrorVariable}) {
      add(variable, "maybe");
    }
    for (const char* value : {"on", "1e30", "0.5", "1x", "99999999999"}) {
      add(kMpsFallbackVariable, value);
    }
  }
  void refuses() {
    QFETCH(QString, variable);
    QFETCH(QString, value);
    const auto outcome = read({{variable.toStdString(), value.toStdString()}});
    const auto* error = std::get_if<std::string>(&outcome);
    QVERIFY(error);
    const QString text = QString::fromStdString(*error);
    QVERIFY2(text.startsWith(variable + ": \"" + value + "\""), qPrintable(text));
    QVERIFY2(text.contains("give "), qPrintable(text));
  }

  void lowDefaultOverHighIsRefusedAsPyTorchDoes() {
    const QString text = refusalOf({{kMpsHighWatermarkVariable, "1.0"}});
    QVERIFY(text.startsWith(kMpsLowWatermarkVariable));
    QVERIFY(text.contains(kMpsHighWatermarkVariable));
    QVERIFY(refusalOf({{kMpsHighWatermarkVariable, "0.0"}}).isEmpty());
  }

  void recommendedOverTheSystemIsRefusedWithBoth() {
    const QString text =
        refusalOf({{kSimRecommendedVariable, "9GiB"}, {kSimSystemVariable, "8GiB"}});
    QVERIFY2(text.startsWith(QString(kSimRecommendedVariable) + ": \"9GiB\""), qPrintable(text));
    QVERIFY2(text.contains(QString(kSimSystemVariable) + ": \"8GiB\""), qPrintable(text));
    const QString machines = refusalOf({{kSimRecommendedVariable, "17GiB"}});
    QVERIFY2(machines.contains(QString("this machine's; --sim-system-memory or ") +
                               kSimSystemVariable + " sets another"),
             qPrintable(machines));
    QVERIFY(
        refusalOf({{kSimRecommendedVariable, "17GiB"}, {kSimSystemVariable, "32GiB"}}).isEmpty());
  }

  void unreservableSizesAreRefused() {
    const QString derived = refusalOf({{kSimSystemVariable, "512GiB"}});
    QVERIFY2(derived.startsWith(QString(kSimSystemVariable) + ": \"512GiB\""), qPrintable(derived));
    const QString given =
        refusalOf({{kSimSystemVariable, "512GiB"}, {kSimRecommendedVariable, "65GiB"}});
    QVERIFY2(given.startsWith(QString(kSimRecommendedVariable) + ": \"65GiB\""), qPrintable(given));
    QVERIFY(given.contains("address space"));
  }

  void unknownVariablesAreRefusedWithTheNearest() {
    const QString text = refusalOf({{"HIGHWATER_SIM_SLOW_DOWN", "2"}});
    QVERIFY2(text.startsWith("HIGHWATER_SIM_SLOW_DOWN "), qPrintable(text));
    QVERIFY2(text.contains("HIGHWATER_SIM_SLOWDOWN?"), qPrintable(text));
    QVERIFY(refusalOf({{"HIGHWATER_WORKER", "x"}}).isEmpty());
  }
};

HIGHWATER_TEST(SimSettingsTest, QCoreApplication)
#include "tst_sim_settings.moc"

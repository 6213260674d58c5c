#include "simmps/settings.h"

#include <QtTest>
#include <map>
#include <string>

using namespace highwater::simmps;

namespace {

std::variant<Settings, std::string> read(const std::map<std::string, std::string>& variables) {
  return readSettings(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      16 * kGiB);
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
    QVERIFY(machineMemoryBytes() > 64 * kMiB);
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
    const auto settings = std::get<Settings>(read({{kRecommendedVariable, text.toStdString()}}));
    QCOMPARE(settings.limits.recommendedBytes, bytes);
  }

  void readsTheOthers() {
    const auto settings = std::get<Settings>(read({{kHighVariable, "0.8"},
                                                   {kLowVariable, "0.5"},
                                                   {kQueueVariable, "sync"},
                                                   {kFallbackVariable, "1"}}));
    QCOMPARE(settings.limits.highWatermarkRatio, 0.8);
    QCOMPARE(settings.limits.lowWatermarkRatio, 0.5);
    QVERIFY(!settings.asynchronous);
    QVERIFY(settings.cpuFallback);
  }

  void refuses_data() {
    QTest::addColumn<QString>("variable");
    QTest::addColumn<QString>("value");
    const auto add = [](const char* variable, const char* value) {
      QTest::addRow("%s=%s", variable, value) << variable << value;
    };
    for (const char* value :
         {"x", "-1", "0", "15MiB", "2000GiB", "5MB", "1e400", "nan", "12 MiBs"}) {
      add(kRecommendedVariable, value);
    }
    for (const char* value : {"x", "-0.1", "2.1", "inf", "1.7x"}) add(kHighVariable, value);
    for (const char* value : {"x", "-1", "1.71"}) add(kLowVariable, value);
    add(kQueueVariable, "ASYNC");
    add(kFallbackVariable, "on");
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
    const auto outcome = read({{kHighVariable, "1.0"}});
    const auto* error = std::get_if<std::string>(&outcome);
    QVERIFY(error);
    QVERIFY(error->find(kLowVariable) == 0);
    QVERIFY(error->find(kHighVariable) != std::string::npos);
    QVERIFY(std::holds_alternative<Settings>(read({{kHighVariable, "0.0"}})));
  }
};

QTEST_GUILESS_MAIN(SimSettingsTest)
#include "tst_sim_settings.moc"

#include "core/exit_codes.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

class TestReportTuning : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  QString recorded(const QString& name) {
    return test::recordIn(folder_, name, test::makeSampleRun());
  }
  static QJsonObject modelOf(const QString& path) {
    const auto outcome = runHighwater({"report", path, "--json"});
    if (outcome.exitCode != kExitDone) return {};
    const QJsonObject report = QJsonDocument::fromJson(outcome.out.toUtf8()).object();
    return report["memory_model"].toObject();
  }

 private slots:
  void predictsForPrograms() {
    const QJsonObject model = modelOf(recorded("a.highwater"));
    // The sample run trains at batch 16, then 32.
    QCOMPARE(model["batch_size"].toInt(), 32);
    QCOMPARE(model["sequence_length"].toInt(), 64);
    QCOMPARE(model["measured"].toArray().size(), 2);
    const QJsonArray predicted = model["predicted_peak"].toArray();
    QCOMPARE(predicted.size(), 4);
    QCOMPARE(predicted[1]["current"]["kind"].toString(), QString("measured"));
    QCOMPARE(predicted[2]["batch_size"].toInt(), 64);
    QCOMPARE(predicted[3]["sequence_length"].toInt(), 128);
    for (const QJsonValue& each : predicted) {
      for (const char* which : {"current", "driver"}) {
        const QJsonObject peak = each[QLatin1String(which)].toObject();
        QVERIFY(peak["lower"].toInteger() <= peak["bytes"].toInteger());
        QVERIFY(peak["bytes"].toInteger() <= peak["upper"].toInteger());
        QVERIFY(peak["bytes"].toInteger() > 0);
      }
      QVERIFY(!each["headroom"].toString().isEmpty());
    }
    QVERIFY(predicted[2]["current"]["bytes"].toInteger() >
            predicted[1]["current"]["bytes"].toInteger());
    // A process that goes on has its cache besides.
    for (const QJsonValue& each : predicted) {
      QVERIFY(each["driver_going_on"]["bytes"].toInteger() >= model["held"].toInteger());
    }
    QVERIFY(model["held"].toInteger() > 0);
    QVERIFY(model["largest_safe_batch_going_on"].toInt() <= model["largest_safe_batch"].toInt());
    QVERIFY(model["largest_safe_batch"].toInt() >= 16);
    QVERIFY(model["longest_safe_length"].toInt() >= 64);
    QVERIFY(model.contains("error") && model["error"].isNull());
    QCOMPARE(model["limit"].toInteger(), qint64(0.9 * (qint64{8} << 30)));
    QVERIFY(model["confidence"].toString().contains("Only length 64 was measured"));
  }

  void saysItToPeople() {
    const QString out = runHighwater({"report", recorded("b.highwater")}).out.simplified();
    QVERIFY2(out.contains("Tuning batch 64, length 64 would take about"), qPrintable(out));
    QVERIFY2(out.contains("Largest safe batch: "), qPrintable(out));
    QVERIFY(out.contains("10 % under recommended"));
    QVERIFY2(out.contains("in a fresh process"), qPrintable(out));
  }

  void theCpuHasNone() {
    std::vector<test::OwnedMessage> messages = test::makeSampleRun();
    for (test::OwnedMessage& message : messages) {
      if (auto* hello = std::get_if<Hello>(&message)) hello->device.selected = "cpu";
    }
    const QString path = test::recordIn(folder_, "cpu.highwater", messages);
    const auto outcome = runHighwater({"report", path, "--json"});
    const QJsonObject report = QJsonDocument::fromJson(outcome.out.toUtf8()).object();
    QVERIFY(report.contains("memory_model") && report["memory_model"].isNull());
    QVERIFY(!runHighwater({"report", path}).out.contains("Tuning"));
  }
};

HIGHWATER_TEST(TestReportTuning, QCoreApplication)
#include "tst_report_tuning.moc"

// How host and device worked together, in the report of a made-up recording.

#include "core/exit_codes.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

class TestReportDevice : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  QJsonObject report_;
  QString text_;

 private slots:
  void initTestCase() {
    const QString path = test::recordIn(folder_, "a.highwater", test::makeSampleRun());
    report_ =
        QJsonDocument::fromJson(runHighwater({"report", path, "--json"}).out.toUtf8()).object();
    text_ = test::reportText(path);
    QVERIFY(!report_.isEmpty());
  }

  void tellsThePathThroughTheBackends() {
    const QJsonObject paths = report_["device_path"].toObject();
    QCOMPARE(paths["steps"].toArray().size(), 60);
    QCOMPARE(paths["changes_p50"].toDouble(), 1.0);
    const QJsonArray chains = paths["chains"].toArray();
    QCOMPARE(chains[0]["chain"].toString(), QStringLiteral("host \u2192 mps"));
    QVERIFY(chains.size() > 1 && chains[0]["steps"].toInt() > chains[1]["steps"].toInt());
    QVERIFY2(text_.contains("mps \u2192 cpu: aten::embedding_renorm_ \u2192 mps"),
             qPrintable(text_));
  }

  void tellsWhatWasQueuedAndExecuted() {
    const QJsonObject execution = report_["execution"].toObject();
    QCOMPARE(execution["steps"].toInt(), 59);
    QVERIFY(execution["queued_ms"].toDouble() > 0);
    QVERIFY(execution["device_span_ms"].toDouble() > 0);
    QVERIFY(execution["host_ahead"]["max_ms"].toDouble() >=
            execution["host_ahead"]["p50_ms"].toDouble());
    QCOMPARE(execution["host_ahead"]["kind"].toString(), QString("estimate"));
    const QJsonArray phases = execution["phases"].toArray();
    QCOMPARE(phases[0]["phases"][0].toString(), QString("forward"));
    for (const QJsonValue& each : phases) {
      QVERIFY(each["queued_ms"].toDouble() > 0);
      QCOMPARE(each["executed_kind"].toString(),
               QString(each["executed_high_ms"].isNull() ? "" : "estimate"));
      QVERIFY(each["executed_low_ms"].isNull() ||
              each["executed_low_ms"].toDouble() <= each["executed_high_ms"].toDouble());
    }
    QVERIFY2(text_.contains("forward") && text_.contains("queued in"), qPrintable(text_));
    QVERIFY2(text_.contains("(device span, idle time in it included)"), qPrintable(text_));
  }

  void tellsWhenTheDeviceStarved() {
    const QJsonObject idle = report_["idle_estimate"].toObject();
    QCOMPARE(idle["kind"].toString(), QString("estimate"));
    QCOMPARE(idle["steps"].toInt(), 58);
    QCOMPARE(idle["per_step"].toArray().size(), 58);
    QVERIFY(idle["low_ms"].toDouble() <= idle["ms"].toDouble());
    QVERIFY(idle["ms"].toDouble() <= idle["high_ms"].toDouble());
    QVERIFY(!idle["causes"].toArray().isEmpty());
    for (const QJsonValue& each : idle["causes"].toArray()) {
      QVERIFY(!each["cause"].toString().isEmpty() && each["total_ms"].isDouble());
    }
    QVERIFY2(text_.contains("(estimate, "), qPrintable(text_));
  }

  void isNullForTheCpu() {
    auto run = test::makeSampleRun({.steps = 5});
    for (auto& message : run) {
      if (auto* hello = std::get_if<Hello>(&message)) hello->device.selected = "cpu";
    }
    const QString path = test::recordIn(folder_, "cpu.highwater", run);
    const QJsonObject report =
        QJsonDocument::fromJson(runHighwater({"report", path, "--json"}).out.toUtf8()).object();
    for (const char* key : {"device_path", "execution", "idle_estimate"}) {
      QVERIFY2(report.contains(QLatin1String(key)) && report[QLatin1String(key)].isNull(), key);
    }
    const QString text = test::reportText(path);
    QVERIFY(!text.contains("Idle") && !text.contains("Switches") && !text.contains("queued in"));
  }
};

HIGHWATER_TEST(TestReportDevice, QCoreApplication)
#include "tst_report_device.moc"

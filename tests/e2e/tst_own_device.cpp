// The main job on the device that --device auto chooses on this machine: record, report, export,
// and the self-test where the device is mps.

#include "core/exit_codes.h"
#include "e2e/runs.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

class TestOwnDevice : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    recording_ = folder_.filePath("auto.highwater");
    const Outcome run = runHighwater({"record", "--device", "auto", "--steps", "6", "--batch", "4",
                                      "--seq", "16", "-o", recording_});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.out + run.err));
    const Outcome outcome = runHighwater({"report", recording_, "--json"});
    QVERIFY2(outcome.exitCode == kExitDone, qPrintable(outcome.err));
    report_ = jsonOf(outcome);
  }

  void reports() {
    const QJsonObject& report = report_;
    QCOMPARE(report["steps"].toInt(), 6);
    QVERIFY(report["step_ms"]["p50"].toDouble() > 0);
    QCOMPARE(report["end"]["reason"].toString(), QString("finished"));
#ifdef Q_OS_MACOS
    QVERIFY(!report["simulated"].toBool());
#else
    QVERIFY(report["simulated"].toBool());
#endif
    if (report["device"] == "mps") {
      QVERIFY(report["memory"]["current_peak"].toInteger() > 0);
      QVERIFY(report["memory"]["recommended"].toInteger() > 0);
    }
  }

  void exportsAPicture() {
    const QString picture = folder_.filePath("auto.png");
    const Outcome run = runHighwater({"export", recording_, "--to", picture});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    QFile file(picture);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(file.read(8) == QByteArray::fromHex("89504e470d0a1a0a"));  // PNG
    QVERIFY(file.size() > 10'000);
  }

  void passesTheSelfTest() {
    if (report_["device"] != "mps") QSKIP("this machine has no mps device");
    QStringList arguments{"doctor", "--selftest"};
#ifndef Q_OS_MACOS
    arguments << "counters";  // tst_self_test makes all checks of the simulated device
#endif
    const Outcome run = runHighwater(arguments << "--json");
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.out + run.err));
    const QJsonObject report = jsonOf(run);
    QVERIFY(report["counts"]["pass"].toInt() > 0);
    QCOMPARE(report["counts"]["fail"].toInt(), 0);
  }

 private:
  QTemporaryDir folder_;
  QString recording_;
  QJsonObject report_;
};

HIGHWATER_TEST(TestOwnDevice, QCoreApplication)
#include "tst_own_device.moc"

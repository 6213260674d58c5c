#include <QRegularExpression>

#include "cli/doctor/doctor_report.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::cli;

namespace {

/// A Mac of that macOS, with a worker of that PyTorch.
Diagnosis macOf(int macOs, const char* torch) {
  Hello hello;
  hello.torchVersion = torch;
  SystemFacts system;
  system.isMac = true;
  system.macOs = macOs;
  return {QStringLiteral("/worker"), hello, system, {}};
}

}  // namespace

class TestDoctorReport : public QObject {
  Q_OBJECT

 private slots:
  void knowsTheOldestMacOs_data() {
    QTest::addColumn<int>("macOs");
    QTest::addColumn<QByteArray>("torch");
    QTest::addColumn<QString>("oldest");
    QTest::addColumn<bool>("newEnough");
    QTest::newRow("13") << 13 << QByteArray("2.13.0") << "14" << false;
    QTest::newRow("14") << 14 << QByteArray("2.13.0") << "14" << true;
    QTest::newRow("14 with 2.14") << 14 << QByteArray("2.14.1") << "14" << true;
    QTest::newRow("14 with 2.15") << 14 << QByteArray("2.15.0") << "15" << false;
    QTest::newRow("15 with 2.15") << 15 << QByteArray("2.15.0a0+git1") << "15" << true;
    QTest::newRow("26 with 3.0") << 26 << QByteArray("3.0.0") << "15" << true;
  }
  void knowsTheOldestMacOs() {
    QFETCH(int, macOs);
    QFETCH(QByteArray, torch);
    QFETCH(QString, oldest);
    QFETCH(bool, newEnough);
    const Diagnosis diagnosis = macOf(macOs, torch.constData());
    const QJsonObject system = doctorJson(diagnosis)["system"].toObject();
    QCOMPARE(system["macos_minimum"].toString(), oldest);
    QCOMPARE(system["macos_new_enough"].toBool(), newEnough);
    const QString text = QString::fromStdString(doctorText(diagnosis));
    QVERIFY(text.contains("macOS " + oldest));
    QCOMPARE(text.contains("this macOS is new enough"), newEnough);
    QCOMPARE(text.contains("which PyTorch " + torch + " asks for"), oldest == "15");
  }

  void saysWhatSlowsTheMachineDown() {
    Diagnosis diagnosis = macOf(15, "2.15.0");
    QString text = QString::fromStdString(doctorText(diagnosis));
    QVERIFY(text.contains(QRegularExpression("thermal state +unknown")));
    QVERIFY(text.contains(QRegularExpression("Low Power Mode +unknown")));
    QVERIFY(text.contains(QRegularExpression("GPU wired limit +unknown")));
    QVERIFY(doctorJson(diagnosis)["system"].toObject()["thermal_state"].isNull());
    QVERIFY(doctorJson(diagnosis)["system"].toObject()["low_power_mode"].isNull());
    QVERIFY(doctorJson(diagnosis)["memory"].toObject()["gpu_wired_limit"].isNull());
    diagnosis.power = {events::ThermalState::Serious, events::PowerMode::Low};
    diagnosis.worker->limits.gpuWiredLimitBytes = std::uint64_t{12} << 30;
    text = QString::fromStdString(doctorText(diagnosis));
    QVERIFY(text.contains(QRegularExpression("thermal state +serious: the system slows")));
    QVERIFY(text.contains(QRegularExpression("Low Power Mode +on: the system slows")));
    QVERIFY(text.contains("(System Settings, Battery)"));
    diagnosis.system.isMac = false;
    const QString other = QString::fromStdString(doctorText(diagnosis));
    QVERIFY(other.contains("(in the system's power settings)") && !other.contains("Battery"));
    diagnosis.system.isMac = true;
    QVERIFY(text.contains(QRegularExpression("GPU wired limit +12.00? GiB \\(iogpu")));
    QCOMPARE(doctorJson(diagnosis)["system"].toObject()["thermal_state"].toString(),
             QString("serious"));
    QVERIFY(doctorJson(diagnosis)["system"].toObject()["low_power_mode"].toBool());
    QCOMPARE(doctorJson(diagnosis)["memory"].toObject()["gpu_wired_limit"].toInteger(),
             qint64{12} << 30);
    diagnosis.worker->limits.gpuWiredLimitBytes = 0;
    diagnosis.power = {events::ThermalState::Nominal, events::PowerMode::Normal};
    text = QString::fromStdString(doctorText(diagnosis));
    QVERIFY(text.contains(QRegularExpression("thermal state +nominal\n")));
    QVERIFY(text.contains(QRegularExpression("Low Power Mode +off\n")));
    QVERIFY(text.contains(QRegularExpression("GPU wired limit +the system's default")));
  }
};

HIGHWATER_TEST(TestDoctorReport, QCoreApplication)
#include "tst_doctor_report.moc"

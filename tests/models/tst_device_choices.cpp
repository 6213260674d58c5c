// Which devices the window offers, by what a machine can run.

#include "models/device_choices.h"
#include "support/test_program.h"

using namespace highwater;
using models::deviceChoices;

namespace {

QStringList keys(const models::OfferedDevices& offered) {
  QStringList all;
  for (const auto& each : deviceChoices(offered)) all << each.key;
  return all;
}

}  // namespace

class TestDeviceChoices : public QObject {
  Q_OBJECT

 private slots:
  void aMacHasNoSimulatedDevice() {
    const models::OfferedDevices mac{.metal = true, .simulated = false};
    QCOMPARE(keys(mac), QStringList({"auto", "mps", "cpu"}));
    for (const auto& each : deviceChoices(mac)) {
      QVERIFY2(!each.meaning.contains("simulated"), qPrintable(each.key));
    }
  }
  void linuxHasNoMetal() {
    QCOMPARE(keys({.metal = false, .simulated = true}), QStringList({"auto", "sim", "cpu"}));
    QCOMPARE(keys({.metal = false, .simulated = false}), QStringList({"auto", "cpu"}));
  }
  void autoSaysWhatItTries() {
    const models::OfferedDevices both{.metal = false, .simulated = true};
    QCOMPARE(deviceChoices(both).front().meaning,
             QString("mps if available, else simulated, else cpu"));
  }
  void thisBuildOffersWhatItHas() {
    QCOMPARE(keys({}).contains("sim"), kHasSimulation);
    QCOMPARE(keys({}).first(), QString("auto"));
    QCOMPARE(keys({}).last(), QString("cpu"));
  }
};

HIGHWATER_TEST(TestDeviceChoices, QCoreApplication)
#include "tst_device_choices.moc"

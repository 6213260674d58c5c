#include <QSet>

#include "core/names.h"
#include "support/test_program.h"

using namespace highwater;

class TestNames : public QObject {
  Q_OBJECT

  template <typename E, typename F>
  void everyValueHasItsOwnWord(F name) {
    QSet<QString> words;
    for (int i = 0; i <= static_cast<int>(E::MAX); ++i) {
      const std::string_view word = name(static_cast<E>(i));
      QVERIFY2(!word.starts_with("unknown") || i == 0, word.data());
      words.insert(QString::fromLatin1(word.data(), static_cast<qsizetype>(word.size())));
    }
    QCOMPARE(words.size(), static_cast<int>(E::MAX) + 1);
  }

 private slots:
  void ofEnums() {
    everyValueHasItsOwnWord<events::Phase>(phaseName);
    everyValueHasItsOwnWord<events::Phase>(phaseKey);
    everyValueHasItsOwnWord<events::SyncKind>(syncKindName);
    everyValueHasItsOwnWord<events::SyncKind>(syncKindKey);
    everyValueHasItsOwnWord<events::MarkerKind>(markerKindKey);
    everyValueHasItsOwnWord<events::EventKind>(eventKindName);
    everyValueHasItsOwnWord<events::EventKind>(eventKindKey);
    everyValueHasItsOwnWord<events::Pressure>(pressureName);
    everyValueHasItsOwnWord<events::ThermalState>(thermalStateName);
  }

  void phaseKeysAreWhatTheReportPromises() {
    QStringList keys;
    for (const events::Phase phase : kPhases) {
      keys << QString::fromStdString(std::string(phaseKey(phase)));
    }
    QCOMPARE(keys, QStringList({"batch_assembly", "device_move", "forward", "loss_read", "backward",
                                "optimizer_step"}));
  }

  void aSimulationNeverPassesForTheRealThing() {
    DeviceReport device;
    device.selected = "mps";
    QCOMPARE(deviceLabel(device), std::string_view("mps"));
    device.simulated = true;
    QCOMPARE(deviceLabel(device), std::string_view("simulated mps"));
    device = {};
    device.selected = "cpu";
    QCOMPARE(deviceLabel(device), std::string_view("cpu"));
  }
};

HIGHWATER_TEST(TestNames, QCoreApplication)
#include "tst_names.moc"

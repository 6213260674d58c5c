#include "core/scenarios.h"
#include "core/sim_knobs.h"
#include "support/test_program.h"

using namespace highwater;

class TestScenarioTable : public QObject {
  Q_OBJECT

 private slots:
  void holdsTheFilesOfTheFolder() {
    const QDir folder(QStringLiteral(HIGHWATER_SOURCE_DIR "/resources/scenarios"));
    const QStringList files = folder.entryList({"*.json"});
    QCOMPARE(scenarios().size(), static_cast<std::size_t>(files.size()));
    for (const QString& file : files) {
      const auto found = findScenario(file.chopped(5).toStdString());
      QVERIFY2(found.ok(), qPrintable(file));
      QVERIFY(!std::string((*found)->description).empty() && (*found)->steps > 0);
    }
  }

  void refusesAnUnknownNameWithTheList() {
    const auto found = findScenario("chatty");
    QVERIFY(!found && found.error().code == ErrorCode::kUsage);
    const QString message = QString::fromStdString(found.error().message);
    QVERIFY(message.contains("\"chatty\"") && message.contains("chatty-logging, clean, "));
  }

  void setsOnlyVariablesThatExist() {
    std::set<std::string> known;
    for (const SimKnob& knob : kSimKnobs) known.insert(knob.variable);
    for (const Scenario& each : scenarios()) {
      for (const ScenarioSetting& setting : each.environment) {
        if (setting.variable) QVERIFY2(known.contains(setting.variable), each.name);
      }
    }
  }
};

HIGHWATER_TEST(TestScenarioTable, QCoreApplication)
#include "tst_scenario_table.moc"

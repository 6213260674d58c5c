#include <QTest>
#include <string>

#include "core/definition_table.h"

using namespace highwater;

class TestDefinitionTable : public QObject {
  Q_OBJECT
 private slots:
  void saysWhereACallSiteIs_data();
  void saysWhereACallSiteIs();
  void saysWhoCalled();
  void endsALoopOfCallers();
  void knowsWhatWasNeverDefined();
};

namespace {

constexpr CallSiteId kSite = 5;

DefinitionTable tableOf(std::vector<CallSiteDefinition> sites) {
  Definitions definitions;
  definitions.callSites = std::move(sites);
  DefinitionTable table;
  table.add(definitions);
  return table;
}

}  // namespace

void TestDefinitionTable::saysWhereACallSiteIs_data() {
  QTest::addColumn<QString>("function");
  QTest::addColumn<QString>("file");
  QTest::addColumn<std::uint32_t>("line");
  QTest::addColumn<QString>("text");
  const auto row = [](const char* text, const char* function, const char* file,
                      std::uint32_t line) {
    QTest::newRow(text) << QString(function) << QString(file) << line << QString(text);
  };
  row("train.cpp:41 (step)", "step", "/home/me/train.cpp", 41);
  row("train.py:7 (step)", "step", "C:\\me\\train.py", 7);
  row("train.cpp:3", "", "train.cpp", 3);
  row("libmine.so (step)", "step", "/usr/lib/libmine.so", 0);
  row("step", "step", "", 41);
}

void TestDefinitionTable::saysWhereACallSiteIs() {
  QFETCH(QString, function);
  QFETCH(QString, file);
  QFETCH(std::uint32_t, line);
  const auto table = tableOf({{kSite, kNoId, function.toStdString(), file.toStdString(), line}});
  QTEST(QString::fromStdString(table.callSite(kSite)), "text");
}

void TestDefinitionTable::saysWhoCalled() {
  const auto table =
      tableOf({{4, kNoId, "train", "train.cpp", 20}, {kSite, 4, "step", "train.cpp", 41}});
  QCOMPARE(table.callStack(kSite), std::string("train.cpp:41 (step) \u2190 train.cpp:20 (train)"));
}

void TestDefinitionTable::endsALoopOfCallers() {
  const auto table = tableOf({{4, kSite, "a", "", 0}, {kSite, 4, "b", "", 0}});
  QVERIFY(table.callStack(kSite).size() < 200);
}

void TestDefinitionTable::knowsWhatWasNeverDefined() {
  const DefinitionTable table;
  QCOMPARE(table.callSite(kNoId), std::string());
  QCOMPARE(table.callSite(kOtherId), std::string("other"));
  QCOMPARE(table.callSite(kSite), std::string("unknown"));
}

QTEST_GUILESS_MAIN(TestDefinitionTable)
#include "tst_definition_table.moc"

#include "core/definition_table.h"
#include "support/test_program.h"

using namespace highwater;

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

class TestDefinitionTable : public QObject {
  Q_OBJECT
 private slots:
  void aCallSiteHasItsLinesText() {
    const auto table = tableOf({{kSite, kNoId, "main", "train.py", 7, "print(loss.item())"}});
    QCOMPARE(table.callSiteParts(kSite).text, std::string("print(loss.item())"));
    QCOMPARE(table.callSite(kSite), std::string("train.py:7 (main)"));
  }

  void formatsACallSite_data() {
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

  void formatsACallSite() {
    QFETCH(QString, function);
    QFETCH(QString, file);
    QFETCH(std::uint32_t, line);
    const auto table = tableOf({{kSite, kNoId, function.toStdString(), file.toStdString(), line}});
    QTEST(QString::fromStdString(table.callSite(kSite)), "text");
  }

  void formatsTheCallers() {
    const auto table =
        tableOf({{4, kNoId, "train", "train.cpp", 20}, {kSite, 4, "step", "train.cpp", 41}});
    QCOMPARE(table.callStack(kSite),
             std::string("train.cpp:41 (step) \u2190 train.cpp:20 (train)"));
  }

  void stopsAtALoopOfCallers() {
    const auto table = tableOf({{4, kSite, "a", "", 0}, {kSite, 4, "b", "", 0}});
    QVERIFY(table.callStack(kSite).size() < 200);
  }

  void hasATextForEveryId() {
    const DefinitionTable table;
    QCOMPARE(table.callSite(kNoId), std::string());
    QCOMPARE(table.callSite(kOtherId), std::string("other"));
    QCOMPARE(table.callSite(kSite), std::string("unknown"));
  }

  void tellsTheUsersLineFromTheLibrarys() {
    const auto own = tableOf({{kSite, kNoId, "main", "/home/me/train.py", 7}}).callSiteParts(kSite);
    QCOMPARE(own.line, std::string("train.py:7"));
    QCOMPARE(own.function, std::string("main"));
    QCOMPARE(own.library, std::string());
    const auto called =
        tableOf({{kSite, kNoId, "main, in hf/trainer.py:9 Trainer.train", "train.py", 7}})
            .callSiteParts(kSite);
    QCOMPARE(called.line, std::string("train.py:7"));
    QCOMPARE(called.function, std::string("main"));
    QCOMPARE(called.library, std::string("hf/trainer.py:9 Trainer.train"));
    QCOMPARE(tableOf({}).callSiteParts(kSite).line, std::string());
  }

  void joinsAModuleWithItsParents() {
    Definitions definitions;
    definitions.modules = {{2, kNoId, ""}, {3, 2, "encoder"}, {4, 3, "1"}, {5, 99, "orphan"}};
    DefinitionTable table;
    table.add(definitions);
    QCOMPARE(table.modulePath(4), std::string("encoder.1"));  // the root has no name
    QCOMPARE(table.modulePath(5), std::string("unknown.orphan"));
    QCOMPARE(table.modulePath(kNoId), std::string());
  }

  void keepsTheFirstDefinitionOfAnId() {
    Definitions definitions;
    definitions.names = {{2, "aten::mm"}, {2, "aten::add"}};
    DefinitionTable table;
    table.add(definitions);
    QCOMPARE(table.name(2), std::string("aten::mm"));
  }

  void describesMarkers() {
    using events::MarkerKind;
    const auto table = tableOf({});
    const auto text = [&table](MarkerKind kind, double before, double after) {
      return table.markerText(events::Marker(0, before, after, 1, kNoId, kind));
    };
    QCOMPARE(text(MarkerKind::BatchSize, 16, 32), std::string("batch 16 \u2192 32"));
    QCOMPARE(text(MarkerKind::CacheEmptied, 0, 0), std::string("cache emptied"));
    QCOMPARE(text(MarkerKind::ProbeLevel, 2, 3), std::string("op recording on"));
  }
};

HIGHWATER_TEST(TestDefinitionTable, QCoreApplication)
#include "tst_definition_table.moc"

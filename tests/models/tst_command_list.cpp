#include "model_test.h"
#include "models/command_list.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using namespace highwater::test;

namespace {

std::vector<models::Command> commands() {
  return {{"Open recording…", "File", "Ctrl+O"},
          {"Export picture…", "File", ""},
          {"Record every op for 20 steps", "Run › Level", "Ctrl+L"},
          {"Pause", "Run", "Ctrl+P", false, false, "resume continue"},
          {"Light", "View › Theme", "", true, true}};
}

}  // namespace

class TestCommandList : public QObject {
  Q_OBJECT

 private slots:
  void ranksWhatFits_data() {
    QTest::addColumn<QString>("typed");
    QTest::addColumn<QStringList>("names");
    QTest::newRow("begin of a word first")
        << "re"
        << QStringList{"Record every op for 20 steps", "Open recording…", "Pause",
                       "Export picture…"};
    QTest::newRow("any case") << "PAUSE" << QStringList{"Pause"};
    QTest::newRow("the path") << "theme" << QStringList{"Light"};
    QTest::newRow("begin of a menu before its middle")
        << "le"
        << QStringList{"Record every op for 20 steps", "Open recording…", "Export picture…"};
    QTest::newRow("words in any order")
        << "steps record" << QStringList{"Record every op for 20 steps"};
    QTest::newRow("letters in order") << "expic" << QStringList{"Export picture…"};
    QTest::newRow("another word") << "Contin" << QStringList{"Pause"};
    QTest::newRow("the middle of another word") << "tinue" << QStringList{};
    QTest::newRow("nothing") << "xyzzy" << QStringList{};
  }
  void ranksWhatFits() {
    QFETCH(QString, typed);
    QFETCH(QStringList, names);
    CommandList list;
    const QAbstractItemModelTester tester(&list, kFatal);
    list.setCommands(commands());
    QCOMPARE(list.rowCount(), 5);
    list.setFilter(typed);
    QStringList shown;
    for (int row = 0; row < list.rowCount(); ++row) shown << cell(list, row, 0);
    QCOMPARE(shown, names);
    list.setFilter({});
    QCOMPARE(list.rowCount(), 5);
    QCOMPARE(cell(list, 0, 0), QString("Open recording…"));
  }

  void whatCanRunComesFirst() {
    CommandList list;
    list.setCommands(
        {{"Pause", "Run", "", false, false, "continue"}, {"Run", "", "", true, false, "continue"}});
    list.setFilter("continue");
    QCOMPARE(cell(list, 0, 0), QString("Run"));
    list.setFilter({});
    QCOMPARE(cell(list, 0, 0), QString("Pause"));
  }

  void marksTheLettersThatFit() {
    QCOMPARE(fitOf(commands()[0], "rec")->at, (QList<int>{5, 6, 7}));
    QCOMPARE(fitOf(commands()[1], "ep")->at, (QList<int>{0, 2}));
    QVERIFY(fitOf(commands()[4], "view")->at.isEmpty());
  }

  void isReadAloud() {
    CommandList list;
    list.setCommands(commands());
    const auto spoken = [&](int row) {
      return list.index(row).data(Qt::AccessibleTextRole).toString();
    };
    QCOMPARE(spoken(3), QString("Pause, Run, Ctrl+P, not available now"));
    QCOMPARE(spoken(4), QString("Light, View › Theme, chosen"));
  }
};

HIGHWATER_TEST(TestCommandList, QCoreApplication)
#include "tst_command_list.moc"

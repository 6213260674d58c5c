#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMainWindow>
#include <QMenuBar>
#include <QSignalSpy>
#include <QTest>

#include "support/test_program.h"
#include "views/panels/command_palette.h"

using namespace highwater::views;

namespace {

struct PaletteBench {
  QMainWindow window;
  CommandPalette palette{&window};
  QAction* open = nullptr;
  QAction* pause = nullptr;
  QAction* light = nullptr;
  QAction* loose = nullptr;

  PaletteBench() {
    window.resize(900, 600);
    QMenu* file = window.menuBar()->addMenu(QStringLiteral("&File"));
    open = file->addAction(QStringLiteral("&Open && close"));
    file->addSeparator();
    pause = file->addAction(QStringLiteral("Pause"));
    pause->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_P));
    pause->setEnabled(false);
    pause->setProperty(kSynonyms, QStringLiteral("resume continue"));
    QMenu* theme = file->addMenu(QStringLiteral("Theme"));
    light = theme->addAction(QStringLiteral("Light"));
    light->setCheckable(true);
    loose = new QAction(QStringLiteral("Loose"), &window);
    window.addAction(loose);
    window.addAction(open);  // in a menu, and so listed once
    window.show();
  }
  [[nodiscard]] QLineEdit* field() const {
    return palette.findChild<QLineEdit*>(QStringLiteral("paletteField"));
  }
  [[nodiscard]] QListView* list() const {
    return palette.findChild<QListView*>(QStringLiteral("paletteList"));
  }
  [[nodiscard]] QString chosen() const { return list()->currentIndex().data().toString(); }
};

}  // namespace

class TestCommandPalette : public QObject {
  Q_OBJECT

 private slots:
  void listsEveryActionOnce() {
    PaletteBench bench;
    bench.palette.open(bench.window.menuBar());
    QVERIFY(bench.palette.isVisible());
    QStringList names;
    const auto* model = bench.list()->model();
    for (int row = 0; row < model->rowCount(); ++row)
      names << model->index(row, 0).data().toString();
    QCOMPARE(names, (QStringList{"Open & close", "Pause", "Light", "Loose"}));
    QCOMPARE(model->index(2, 0).data(highwater::models::CommandList::kPathRole).toString(),
             QString("File › Theme"));
  }

  void runsWhatIsChosen() {
    PaletteBench bench;
    bench.palette.open(bench.window.menuBar());
    QSignalSpy ran(bench.light, &QAction::triggered);
    QTest::keyClicks(bench.field(), "lig");
    QCOMPARE(bench.chosen(), QString("Light"));
    QTest::keyClick(bench.field(), Qt::Key_Return);
    QCOMPARE(ran.size(), 1);
    QVERIFY(!bench.palette.isVisible());
    // The next time it begins anew, with what is true then.
    bench.palette.open(bench.window.menuBar());
    QVERIFY(bench.field()->text().isEmpty());
    QCOMPARE(bench.chosen(), QString("Open & close"));
  }

  void arrowsChoose() {
    PaletteBench bench;
    bench.palette.open(bench.window.menuBar());
    QTest::keyClick(bench.field(), Qt::Key_Down);
    QCOMPARE(bench.chosen(), QString("Pause"));
    QTest::keyClick(bench.field(), Qt::Key_End);
    QTest::keyClick(bench.field(), Qt::Key_PageDown);
    QCOMPARE(bench.chosen(), QString("Loose"));
    QTest::keyClick(bench.field(), Qt::Key_Up);
    QCOMPARE(bench.chosen(), QString("Light"));
  }

  void aDisabledCommandStaysWhereItIs() {
    PaletteBench bench;
    bench.palette.open(bench.window.menuBar());
    QTest::keyClicks(bench.field(), "pause");
    QTest::keyClick(bench.field(), Qt::Key_Return);
    QVERIFY(bench.palette.isVisible());
    QTest::keyClick(bench.field(), Qt::Key_Escape);
    QVERIFY(!bench.palette.isVisible());
  }

  void findsOtherWords() {
    PaletteBench bench;
    bench.palette.open(bench.window.menuBar());
    const auto* nothing = bench.palette.findChild<QLabel*>(QStringLiteral("paletteNothing"));
    QVERIFY(!nothing->isVisible());
    QTest::keyClicks(bench.field(), "resu");
    QCOMPARE(bench.chosen(), QString("Pause"));
    QCOMPARE(bench.list()->model()->rowCount(), 1);
    // A list without commands says so, with what was typed as plain text.
    bench.field()->clear();
    QTest::keyClicks(bench.field(), "<b>zz");
    QCOMPARE(bench.list()->model()->rowCount(), 0);
    QVERIFY(nothing->isVisible());
    QCOMPARE(nothing->text(), QString("No command fits “<b>zz”"));
    for (int i = 0; i < 5; ++i) QTest::keyClick(bench.field(), Qt::Key_Backspace);
    QVERIFY(!nothing->isVisible());
  }

  void aClickRuns() {
    PaletteBench bench;
    bench.palette.open(bench.window.menuBar());
    QSignalSpy ran(bench.loose, &QAction::triggered);
    const QModelIndex last = bench.list()->model()->index(3, 0);
    QTest::mouseClick(bench.list()->viewport(), Qt::LeftButton, {},
                      bench.list()->visualRect(last).center());
    QCOMPARE(ran.size(), 1);
    QVERIFY(!bench.palette.isVisible());
  }
};

HIGHWATER_TEST(TestCommandPalette, QApplication)
#include "tst_command_palette.moc"

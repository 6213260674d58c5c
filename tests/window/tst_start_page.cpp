// The page of a window without a run, alone and in the window.
#include <QAction>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QScopeGuard>
#include <QSettings>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>

#include "core/scenarios.h"
#include "run/recordings_folder.h"
#include "support/active_window.h"
#include "support/own_home.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "views/panels/banner.h"
#include "views/panes/pane_stack.h"
#include "window/main_window.h"
#include "window/start/machine_panel.h"
#include "window/start/recording_changes.h"
#include "window/start/sample_list.h"
#include "window/start_page.h"

using namespace highwater;
using window::MainWindow;
using window::StartPage;

namespace {

session::LaunchOptions fakeWorker() {
  session::LaunchOptions launch;
  launch.workerProgram = QStringLiteral(HIGHWATER_FAKE_WORKER);
  launch.steps = 1'000'000;
  return launch;
}

template <typename T>
T* child(const QWidget& parent, const char* name) {
  return parent.findChild<T*>(QLatin1String(name));
}

/// The texts of all labels that say what is wrong.
QStringList problems(const QWidget& parent) {
  QStringList texts;
  for (const auto* label : parent.findChildren<QLabel*>()) {
    if (label->property("kind") == QLatin1String("wrong") && label->isVisible())
      texts << label->text();
  }
  return texts;
}

/// A page on screen with a script that is there.
struct StartPageBench {
  explicit StartPageBench(StartPage::Machine machine = StartPage::Machine::kOff)
      : page(fakeWorker(), machine) {
    write("train.py");
    page.resize(1600, 900);
    page.show();
  }
  void write(const char* name) const {
    QFile file(folder.filePath(QLatin1String(name)));
    QVERIFY(file.open(QIODevice::WriteOnly));
  }
  [[nodiscard]] QLineEdit* field(const char* name) const { return child<QLineEdit>(page, name); }
  [[nodiscard]] QPushButton* run() const { return child<QPushButton>(page, "runScriptButton"); }
  void fill() const {
    field("scriptField")->setText(folder.filePath("train.py"));
    child<QComboBox>(page, "pythonField")->setEditText(QStringLiteral("sh"));
    QTRY_VERIFY(run()->isEnabled());
  }

  QTemporaryDir folder;
  StartPage page;
};

struct Dropped {
  explicit Dropped(const QString& path) { data.setUrls({QUrl::fromLocalFile(path)}); }
  /// Whether the window takes it.
  bool on(MainWindow& window) {
    QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    enter.ignore();
    QApplication::sendEvent(&window, &enter);
    if (!enter.isAccepted()) return false;
    QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &drop);
    return true;
  }
  QMimeData data;
};

}  // namespace

class TestStartPage : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir home_;

  static bool pageShown(const MainWindow& window) {
    const auto* page = window.findChild<StartPage*>();
    return page && page->isVisible();
  }
  static QStringList shownDocks(const MainWindow& window) {
    QStringList names;
    for (const auto* dock : window.findChildren<QDockWidget*>()) {
      if (dock->isVisible()) names << dock->objectName();
    }
    names.sort();
    return names;
  }
  static QString record(const QTemporaryDir& folder, const char* name) {
    return test::recordIn(folder, QLatin1String(name), test::makeSampleRun({.steps = 20}));
  }

 private slots:
  void initTestCase() {
    QVERIFY(home_.isValid());
    test::useOwnHome();
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
    QCoreApplication::setOrganizationName(QStringLiteral("Highwater"));
    qputenv("FAKE_WORKER", "train");
  }
  void init() {
    QSettings().clear();
    QDir(run::recordingsFolder()).removeRecursively();
  }

  void asksForAScript() {
    const StartPageBench bench;
    QVERIFY(!bench.run()->isEnabled());
    QVERIFY(!bench.page.namesScript());
    QCOMPARE(problems(bench.page), QStringList());  // nobody has written anything yet
  }

  void startsWhatTheFormSays() {
    StartPageBench bench;
    QSignalSpy asked(&bench.page, &StartPage::runScriptRequested);
    bench.fill();
    bench.field("argumentsField")->setText("--epochs 3");
    child<QToolButton>(bench.page, "opsLevelSegment")->click();
    bench.run()->click();
    QCOMPARE(asked.size(), 1);
    const auto options = asked[0][0].value<session::ScriptOptions>();
    QCOMPARE(options.command,
             QStringList({QStandardPaths::findExecutable("sh"), "train.py", "--epochs", "3"}));
    QCOMPARE(options.workingFolder, bench.folder.path());
    QCOMPARE(options.probeLevel, QString("ops"));
    QCOMPARE(asked[0][1].toString(), QString("train-01"));
    QVERIFY(QDir(run::recordingsFolder()).exists());
    // The next run gets the next name once there is a recording of this one.
    QFile made(run::recordingFile("train-01"));
    QVERIFY(made.open(QIODevice::WriteOnly));
    bench.run()->click();
    QCOMPARE(asked[1][1].toString(), QString("train-02"));
  }

  void returnStartsToo() {
    StartPageBench bench;
    QSignalSpy asked(&bench.page, &StartPage::runScriptRequested);
    bench.fill();
    QTest::keyClick(bench.field("argumentsField"), Qt::Key_Return);
    QCOMPARE(asked.size(), 1);
  }

  void saysWhatIsWrongBesideTheField() {
    StartPageBench bench;
    QSignalSpy asked(&bench.page, &StartPage::runScriptRequested);
    bench.fill();
    bench.field("argumentsField")->setText("--name \"a");
    QTRY_VERIFY(problems(bench.page).join('|').contains("is not closed"));
    QCOMPARE(bench.field("commandField")->text(), QString());
    bench.run()->click();
    QVERIFY(asked.isEmpty());
    bench.field("argumentsField")->clear();
    QTRY_COMPARE(problems(bench.page), QStringList());
    QVERIFY(bench.field("commandField")->text().contains("highwater run "));
    bench.field("scriptField")->setText("missing.py");
    QTRY_VERIFY(problems(bench.page).join('|').contains("missing.py"));
    QVERIFY(!bench.run()->isEnabled());
  }

  void speaksOfTheMachineThatIsNamed() {
    StartPageBench bench;
    const auto texts = [&] {
      QStringList all;
      for (const QLabel* each : bench.page.findChildren<QLabel*>()) all << each->text();
      return all.join('|');
    };
    auto* device = child<QComboBox>(bench.page, "scriptDeviceField");
    device->setCurrentIndex(device->findText("auto"));
    QTRY_VERIFY(texts().contains("No mps on Linux"));
    QVERIFY(child<QPushButton>(bench.page, "browseScriptButton")->isEnabled());
    bench.field("hostField")->setText("user@studio");
    QTRY_VERIFY(!texts().contains("No mps on Linux"));
    QVERIFY(texts().contains("that ssh gives there"));
    QVERIFY(!child<QPushButton>(bench.page, "browseScriptButton")->isEnabled());
    bench.field("hostField")->clear();
    QTRY_VERIFY(child<QPushButton>(bench.page, "browseScriptButton")->isEnabled());
  }

  void anErrorInTheEnvironmentIsShown() {
    StartPageBench bench;
    bench.fill();
    QVERIFY(!bench.field("highWatermarkField")->isVisible());
    bench.field("highWatermarkField")->setText("7");
    bench.page.runScript();
    QVERIFY(bench.field("highWatermarkField")->isVisible());
    QVERIFY(problems(bench.page).join('|').contains("0 (no limit) to 2"));
  }

  void offersTheSamples() {
    StartPageBench bench;
    QSignalSpy asked(&bench.page, &StartPage::runSampleRequested);
    auto* table = child<QTableView>(bench.page, "sampleTable");
    QCOMPARE(table->model()->rowCount(), int(scenarios().size()) + 1);
    for (int row = 0; row < table->model()->rowCount(); ++row) {
      table->selectRow(row);
      QTest::keyClick(table, Qt::Key_Return);
    }
    QCOMPARE(asked[0][0].toString(), QString());
    for (std::size_t i = 0; i < scenarios().size(); ++i) {
      QCOMPARE(asked[qsizetype(i) + 1][0].toString(), QString(scenarios()[i].name));
    }
    QVERIFY(table->verticalScrollBarPolicy() == Qt::ScrollBarAlwaysOff);
    QVERIFY(table->rowViewportPosition(table->model()->rowCount() - 1) + 27 <=
            table->viewport()->height());
  }

  void keepsWhatWasWritten() {
    {
      const StartPageBench bench(StartPage::Machine::kOn);
      bench.fill();
      bench.field("argumentsField")->setText("--epochs 3");
      bench.field("otherVariablesField")->setText("TOKEN=secret");
      child<QToolButton>(bench.page, "offLevelSegment")->click();
      QTRY_COMPARE(QSettings().value("start/level").toString(), QString("off"));
    }
    const StartPageBench again(StartPage::Machine::kOn);
    QVERIFY(again.field("scriptField")->text().endsWith("/train.py"));
    QCOMPARE(again.field("argumentsField")->text(), QString("--epochs 3"));
    QCOMPARE(child<QComboBox>(again.page, "pythonField")->currentText(), QString("sh"));
    QVERIFY(child<QToolButton>(again.page, "offLevelSegment")->isChecked());
    for (const QString& key : QSettings().allKeys()) {
      QVERIFY2(!QSettings().value(key).toString().contains("secret"), qPrintable(key));
    }
  }

  void fitsASmallWindow() {
    StartPageBench bench;
    auto* tabs = child<QTabBar>(bench.page, "startTabs");
    auto* samples = child<QWidget>(bench.page, "sampleTable");
    auto* legend = child<QWidget>(bench.page, "markLegend");
    QVERIFY(!tabs->isVisible() && samples->isVisible() && legend->isVisible());
    bench.page.resize(1280, 710);
    QVERIFY(tabs->isVisible() && samples->isVisible() && !legend->isVisible());
    tabs->setCurrentIndex(2);
    QVERIFY(!samples->isVisible() && legend->isVisible());
    // One above the other where two columns have no room.
    auto* recordings = child<QWidget>(bench.page, "recordingTable");
    const auto leftOf = [&](const QWidget* widget) {
      return widget->mapTo(&bench.page, QPoint(0, 0)).x();
    };
    QVERIFY(leftOf(recordings) > 600);
    bench.page.resize(1000, 700);
    QCoreApplication::processEvents();
    QVERIFY(leftOf(recordings) < 100);
  }

  /// On the smallest window the samples are below the form.
  void aLinkLeadsToTheSamples() {
    const StartPageBench bench;
    auto* tabs = child<QTabBar>(bench.page, "startTabs");
    auto* samples = bench.page.findChild<window::SampleList*>();
    auto* link = child<QToolButton>(bench.page, "toSamplesButton");
    bench.page.window()->resize(800, 500);
    QApplication::processEvents();
    tabs->setCurrentIndex(1);
    QVERIFY(link->isVisible() && !samples->isVisible());
    QTest::mouseClick(link, Qt::LeftButton);
    QCOMPARE(tabs->currentIndex(), 0);
    QTRY_VERIFY(samples->isVisible() &&
                samples->viewport()->visibleRegion().boundingRect().height() > 100);
  }

  void describesTheMachine() {
    StartPageBench hidden(StartPage::Machine::kOn);
    hidden.page.hide();
    const StartPageBench bench(StartPage::Machine::kOn);
    const auto said = [](const StartPageBench& each) {
      QStringList texts;
      const auto* panel = child<QWidget>(each.page, "machinePanel");
      for (const auto* label : panel->findChildren<QLabel*>()) texts << label->text();
      return texts;
    };
    QTRY_VERIFY(said(bench).join('|').contains("recommended"));
    QVERIFY(said(bench).contains("mps, simulated"));
    QVERIFY(said(hidden).contains("…"));  // a page that is not shown asks nothing
  }

  /// The folder that Highwater is started in may be anybody's.
  void runsNoPythonOfAFolderThatNobodyNamed() {
    QTemporaryDir folder;
    QVERIFY(QDir(folder.path()).mkpath(".venv/bin"));
    QFile python(folder.filePath(".venv/bin/python"));
    QVERIFY(python.open(QIODevice::WriteOnly));
    python.write("#!/bin/sh\necho > '" + folder.filePath("ran").toLocal8Bit() + "'\n");
    python.setPermissions(python.permissions() | QFile::ExeOwner);
    python.close();
    const QString before = QDir::currentPath();
    QVERIFY(QDir::setCurrent(folder.path()));
    const auto back = qScopeGuard([&] { QDir::setCurrent(before); });
    const StartPageBench bench(StartPage::Machine::kOn);
    QCOMPARE(child<QComboBox>(bench.page, "pythonField")->currentText(),
             run::shownPath(python.fileName()));
    // The worker is asked after the Python.
    const auto* memory = child<QWidget>(bench.page, "machinePanel");
    const auto described = [memory] {
      for (const auto* label : memory->findChildren<QLabel*>()) {
        if (label->text().contains("recommended")) return true;
      }
      return false;
    };
    QTRY_VERIFY(described());
    QVERIFY(!QFile::exists(folder.filePath("ran")));
    QFile script(folder.filePath("train.py"));
    QVERIFY(script.open(QIODevice::WriteOnly));
    bench.field("scriptField")->setText("train.py");
    QTRY_VERIFY(QFile::exists(folder.filePath("ran")));
  }

  void theWindowBeginsWithIt() {
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    QVERIFY(pageShown(window));
    QCOMPARE(shownDocks(window), QStringList());
    QVERIFY(!window.findChild<views::PaneStack*>()->isVisible());
  }

  void aRecordingTakesItsPlace() {
    const QTemporaryDir folder;
    const QString path = record(folder, "a.highwater");
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    auto* page = window.findChild<StartPage*>();
    emit page->openRecordingRequested(path);
    QTRY_COMPARE(window.currentRun().recordingPath(), std::filesystem::path(path.toStdString()));
    QTRY_VERIFY(!pageShown(window));
    QTRY_COMPARE(shownDocks(window), QStringList({"controlsDock", "eventsDock", "findingsDock",
                                                  "selectionDock", "syncDock"}));
    // The action goes to the page and back; docks that the user closed stay closed.
    window.findChild<QDockWidget*>("controlsDock")->close();
    const QStringList docks = shownDocks(window);
    QCOMPARE(docks.size(), 4);
    auto* action = window.findChild<QAction*>("startPageAction");
    action->trigger();
    QVERIFY(pageShown(window));
    QCOMPARE(shownDocks(window), QStringList());
    // It is in the list, from wherever it was opened.
    const auto* recordings = window.findChild<QTableView*>("recordingTable")->model();
    QTRY_COMPARE(recordings->rowCount(), 1);
    QCOMPARE(recordings->index(0, 1).data().toString(), QString("a"));
    action->trigger();
    QVERIFY(!pageShown(window));
    QCOMPARE(shownDocks(window), docks);
  }

  /// The dock of the sync points moves into the tabs of a small window.
  void theDocksFollowAWindowThatShrankMeanwhile() {
    const QTemporaryDir folder;
    const QString path = record(folder, "a.highwater");
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    QCOMPARE(window.size(), QSize(1600, 1000));
    window.resize(1280, 800);
    QCoreApplication::processEvents();
    QCOMPARE(shownDocks(window), QStringList());
    QVERIFY(window.openRecording(path.toStdString()));
    QTRY_COMPARE(shownDocks(window),
                 QStringList({"controlsDock", "eventsDock", "findingsDock", "selectionDock"}));
    QTRY_COMPARE(window.findChild<QDockWidget*>("controlsDock")->width(), 236);
  }

  void runStartsWhatIsSelected() {
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    auto* samples = child<QTableView>(window, "sampleTable");
    auto* workload = child<QComboBox>(window, "workloadCombo");
    const auto* run = window.findChild<QAction*>(QStringLiteral("runAction"));
    const auto selected = [samples] {
      const auto rows = samples->selectionModel()->selectedRows();
      return rows.isEmpty() ? QString() : rows.front().data().toString();
    };
    const auto click = [samples](const QString& name) {
      for (int row = 0; row < samples->model()->rowCount(); ++row) {
        const QModelIndex cell = samples->model()->index(row, 0);
        if (cell.data().toString() != name) continue;
        QTest::mouseClick(samples->viewport(), Qt::LeftButton, {},
                          samples->visualRect(cell).center());
      }
    };
    QCOMPARE(selected(), QString("issue-classifier"));
    click("host-bound");
    QCOMPARE(workload->currentText(), QString("host-bound"));
    QCOMPARE(window.currentRun().options().scenario, std::string("host-bound"));
    QVERIFY2(run->toolTip().startsWith("Train host-bound"), qPrintable(run->toolTip()));
    // The list follows the tool bar.
    workload->setCurrentText("clean");
    emit workload->activated(workload->currentIndex());
    QCOMPARE(selected(), QString("clean"));
    // A script that is named is what runs, until a sample is selected.
    child<QLineEdit>(window, "scriptField")->setText("/nowhere/train.py");
    auto* script = child<QLabel>(window, "runName");
    QTRY_COMPARE(script->text(), QString("train.py"));
    QVERIFY(script->isVisible() && !workload->isVisible());
    QCOMPARE(selected(), QString());
    click("clean");
    QTRY_VERIFY(!script->isVisible() && workload->isVisible());
    QCOMPARE(selected(), QString("clean"));
    window.findChild<QAction*>(QStringLiteral("runAction"))->trigger();
    QVERIFY(window.currentRun().live());
    QTRY_VERIFY(window.currentRun().store().run().has_value());
    QVERIFY(!window.currentRun().script());
    // What runs has a name, and is not chosen again before it has ended.
    QVERIFY(!workload->isVisible() && !child<QComboBox>(window, "presetCombo")->isVisible());
    QVERIFY(script->isVisible());
    QVERIFY(!script->text().isEmpty());
    QVERIFY(child<QToolButton>(window, "levelButton")->isVisible());
    window.closeAtOnce();
  }

  void buttonsStayDisabledWhereTheBarIsResized() {
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    for (const int width : {1600, 1280, 800, 1280, 1600}) {
      window.resize(width, 800);
      QCoreApplication::processEvents();
      for (const char* name : {"emptyCacheButton", "markButton"}) {
        QVERIFY2(!child<QToolButton>(window, name)->isEnabled(),
                 qPrintable(QStringLiteral("%1 at %2").arg(name).arg(width)));
      }
    }
  }

  void aWrongFileIsExplainedAboveThePage() {
    const QTemporaryDir folder;
    const QString path = folder.filePath("a.highwater");
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("no") == 2);
    file.close();
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    QVERIFY(Dropped(path).on(window));
    QVERIFY(pageShown(window));
    const auto* banner = window.findChild<views::Banner*>();
    QTRY_VERIFY2(banner->isVisible() && banner->message().contains("a.highwater"),
                 qPrintable(banner->message()));
    // There is no log to lead to beside the page.
    QVERIFY(!child<QToolButton>(*banner, "endBannerLines")->isVisible());
    // The next one is sound.
    QVERIFY(Dropped(record(folder, "b.highwater")).on(window));
    QTRY_VERIFY(window.currentRun().showsFile());
    window.showStartPage(true);
    QVERIFY(banner->isHidden());
  }

  void aDroppedScriptFillsTheForm() {
    const QTemporaryDir folder;
    QFile script(folder.filePath("train.py"));
    QVERIFY(script.open(QIODevice::WriteOnly));
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    QVERIFY(!child<QLineEdit>(window, "scriptField")->acceptDrops());
    QVERIFY(Dropped(script.fileName()).on(window));
    QCOMPARE(child<QLineEdit>(window, "scriptField")->text(), script.fileName());
    QVERIFY(child<QPushButton>(window, "runScriptButton")->isEnabled());
  }

  void aFileThatIsGoneLeavesTheListOnRequest() {
    StartPageBench bench(StartPage::Machine::kOn);
    bench.page.noteOpened(bench.folder.filePath("gone.highwater"));
    bench.page.hide();
    bench.page.show();
    auto* table = child<QTableView>(bench.page, "recordingTable");
    QCOMPARE(table->model()->rowCount(), 1);
    emit table->customContextMenuRequested(table->visualRect(table->model()->index(0, 1)).center());
    auto* menu = bench.page.findChild<QMenu*>();
    QVERIFY(menu && menu->actions().size() == 4);
    // Open, Rename and Delete need a file.
    for (int i = 0; i < 3; ++i) QVERIFY(!menu->actions()[i]->isEnabled());
    menu->actions()[3]->trigger();
    QCOMPARE(table->model()->rowCount(), 0);
    QCOMPARE(QSettings().value("start/opened").toStringList(), QStringList());
  }

  void recordingsAreRenamedAndDeletedByKeys() {
    const QTemporaryDir folder;
    const QString path = record(folder, "a.highwater");
    QVERIFY(QFile(path + "-wal").open(QIODevice::WriteOnly));
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    QVERIFY(window.openRecording(path.toStdString()).ok());
    window.showStartPage(true);
    QVERIFY(QTest::qWaitForWindowActive(&window, test::kWaitMs));
    auto* table = child<QTableView>(window, "recordingTable");
    QTRY_COMPARE(table->model()->rowCount(), 1);
    table->setFocus();
    table->setCurrentIndex(table->model()->index(0, 1));
    // A Mac's key is there too, and opens nothing.
    QTest::keyClick(table, Qt::Key_Return, Qt::ControlModifier);
    QVERIFY(window.findChild<QLineEdit*>("recordingName"));
    QTest::keyClick(window.findChild<QLineEdit*>("recordingName"), Qt::Key_Escape);
    QTRY_VERIFY(!window.findChild<QLineEdit*>("recordingName"));
    test::makeActive(window);
    table->setFocus();
    QTest::keyClick(table, Qt::Key_F2);
    auto* name = window.findChild<QLineEdit*>("recordingName");
    QVERIFY(name);
    QCOMPARE(name->text(), QString("a"));
    QTest::keyClicks(name, "x/y");
    auto* dialog = qobject_cast<QDialog*>(name->window());
    QTest::keyClick(name, Qt::Key_Return);
    QVERIFY2(dialog->isVisible(), "a name without folders");
    name->selectAll();
    QTest::keyClicks(name, "before the fix");
    QTest::keyClick(name, Qt::Key_Return);
    const QString renamed = folder.filePath("before the fix.highwater");
    QTRY_VERIFY(QFile::exists(renamed) && !QFile::exists(path));
    QVERIFY(QFile::exists(renamed + "-wal") && !QFile::exists(path + "-wal"));
    QCOMPARE(table->model()->rowCount(), 1);
    QCOMPARE(table->model()->index(0, 1).data().toString(), QString("before the fix"));
    // The run on screen knows its file by the new name.
    QCOMPARE(window.currentRun().recordingPath(), std::filesystem::path(renamed.toStdString()));

    table->setFocus();
    table->setCurrentIndex(table->model()->index(0, 1));
    QTest::keyClick(table, Qt::Key_Backspace, Qt::ControlModifier);
    auto* asked = window.findChild<QPushButton*>("deleteButton");
    QVERIFY(asked);
    asked->window()->close();
    QTRY_VERIFY(!window.findChild<QPushButton*>("deleteButton"));
    test::makeActive(window);
    table->setFocus();
    QTest::keyClick(table, Qt::Key_Delete);
    auto* sure = window.findChild<QPushButton*>("deleteButton");
    QVERIFY(sure && QFile::exists(renamed));
    QTest::mouseClick(sure, Qt::LeftButton);
    QTRY_VERIFY(!QFile::exists(renamed) && !QFile::exists(renamed + "-wal"));
    QCOMPARE(table->model()->rowCount(), 0);
  }

  void aRecordingThatIsWrittenIsLeftAlone() {
    const QTemporaryDir folder;
    const QString path = folder.filePath("b.highwater");
    auto writer = store::RecordingWriter::create(path.toStdString());
    QVERIFY(writer.ok());
    QVERIFY(window::renameRecording(path, "c").error().code == ErrorCode::kExists);
    QVERIFY(window::deleteRecording(path).error().code == ErrorCode::kExists);
    QVERIFY((*writer)->close().ok());
    QCOMPARE(*window::renameRecording(path, "c"), folder.filePath("c.highwater"));
    const QString other = record(folder, "d.highwater");
    QVERIFY(window::renameRecording(other, "c").error().code == ErrorCode::kUsage);
    QVERIFY(QFile::exists(other));
  }

  void allCompanionsFollowARecording() {
    const QTemporaryDir folder;
    const QString path = record(folder, "a.highwater"), renamed = folder.filePath("b.highwater");
    const QStringList suffixes{"-wal", "-shm", "-journal"};
    for (const QString& suffix : suffixes) QVERIFY(QFile(path + suffix).open(QIODevice::WriteOnly));
    QCOMPARE(*window::renameRecording(path, "b"), renamed);
    for (const QString& suffix : suffixes) {
      QVERIFY2(QFile::exists(renamed + suffix) && !QFile::exists(path + suffix),
               qPrintable(suffix));
    }
    QVERIFY(window::deleteRecording(renamed).ok());
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files), QStringList());
  }

  void aNameWithForeignCompanionsIsRefused() {
    for (const QString suffix : {"-wal", "-shm", "-journal"}) {
      const QTemporaryDir folder;
      const QString path = record(folder, "a.highwater");
      QVERIFY(QFile(path + "-wal").open(QIODevice::WriteOnly));
      const QString foreign = folder.filePath("b.highwater") + suffix;
      QVERIFY(QFile(foreign).open(QIODevice::WriteOnly));
      const auto refused = window::renameRecording(path, "b");
      QVERIFY(!refused.ok() && refused.error().code == ErrorCode::kUsage);
      QVERIFY2(
          refused.error().message.find("b.highwater" + suffix.toStdString()) != std::string::npos,
          refused.error().message.c_str());
      QVERIFY(QFile::exists(path) && QFile::exists(path + "-wal") && QFile::exists(foreign));
      QVERIFY(!QFile::exists(folder.filePath("b.highwater")));
    }
  }

  void aFailedRenameIsUndone() {
    const QTemporaryDir folder;
    const QString path = folder.filePath("a.highwater");  // somebody has deleted it meanwhile
    for (const char* suffix : {"-wal", "-journal"}) {
      QVERIFY(QFile(path + suffix).open(QIODevice::WriteOnly));
    }
    QVERIFY(window::renameRecording(path, "b").error().code == ErrorCode::kFailed);
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files, QDir::Name),
             QStringList({"a.highwater-journal", "a.highwater-wal"}));
  }

  void theMenuListsRecentRecordings() {
    const QTemporaryDir folder;
    const QString path = record(folder, "of today & yesterday.highwater");
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    auto* menu = window.findChild<QMenu*>("recentMenu");
    emit menu->aboutToShow();
    QCOMPARE(menu->actions().size(), 1);
    QVERIFY(!menu->actions()[0]->isEnabled());  // there are none yet
    QVERIFY(window.openRecording(path.toStdString()).ok());
    window.showStartPage(true);
    emit menu->aboutToShow();
    QCOMPARE(menu->actions().size(), 1);
    QCOMPARE(menu->actions()[0]->text(), QString("of today && yesterday"));
    menu->actions()[0]->trigger();
    QTRY_COMPARE(window.currentRun().recordingPath(), std::filesystem::path(path.toStdString()));
    QTRY_VERIFY(!pageShown(window));
  }

  /// An environment beside the script that lacks PyTorch does not take the place of one that works.
  void aScriptDoesNotTakeAWorkingPythonAway() {
    QTemporaryDir folder;
    const auto python = [&](const QString& where, const char* torch, const char* problem) {
      QVERIFY(QDir(folder.path()).mkpath(where + "/bin"));
      QFile file(folder.filePath(where + "/bin/python"));
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write("#!/bin/sh\necho '{\"python\": \"3.11.2\", \"torch\": \"" + QByteArray(torch) +
                 "\", \"problem\": \"" + problem + "\", \"ready\": true}'\n");
      file.setPermissions(file.permissions() | QFile::ExeOwner);
    };
    python("works", "2.13.0", "");
    python("project/.venv", "", "PyTorch is not installed");
    QVERIFY(QFile(folder.filePath("project/train.py")).open(QIODevice::WriteOnly));
    const QString here = QDir::currentPath();
    QVERIFY(QDir::setCurrent(folder.path()));  // which has no environment of its own
    const QByteArray before = qgetenv("VIRTUAL_ENV");
    qputenv("VIRTUAL_ENV", folder.filePath("works").toLocal8Bit());
    const auto back = qScopeGuard([&] {
      QDir::setCurrent(here);
      before.isNull() ? qunsetenv("VIRTUAL_ENV") : qputenv("VIRTUAL_ENV", before);
    });
    const StartPageBench bench(StartPage::Machine::kOn);
    const auto* field = child<QComboBox>(bench.page, "pythonField");
    const QString works = run::shownPath(folder.filePath("works/bin/python"));
    QCOMPARE(field->currentText(), works);
    bench.field("scriptField")->setText(folder.filePath("project/train.py"));
    // It is offered and asked, and does not stay.
    QTRY_VERIFY(field->findText(run::shownPath(folder.filePath("project/.venv/bin/python"))) == 0);
    QTRY_COMPARE(field->currentText(), works);
    QVERIFY2(problems(bench.page).isEmpty(), qPrintable(problems(bench.page).join('|')));
  }

  void whatAPythonLacksIsSaidOnce() {
    const StartPageBench bench(StartPage::Machine::kOn);
    QFile python(bench.folder.filePath("python"));
    QVERIFY(python.open(QIODevice::WriteOnly));
    python.write(
        "#!/bin/sh\necho '{\"python\": \"3.11.2\", \"torch\": \"\", "
        "\"problem\": \"PyTorch is not there\", \"ready\": false}'\n");
    python.setPermissions(python.permissions() | QFile::ExeOwner);
    python.close();
    bench.field("scriptField")->setText(bench.folder.filePath("train.py"));
    child<QComboBox>(bench.page, "pythonField")->setEditText(python.fileName());
    const auto saying = [&] {
      QStringList places;
      for (const auto* label : bench.page.findChildren<QLabel*>()) {
        if (label->text().contains("PyTorch is not there")) {
          places << label->parentWidget()->objectName();
        }
      }
      return places;
    };
    QTRY_COMPARE(saying().size(), 1);
    QVERIFY(saying().front() != QString("machinePanel"));
    const auto* machine = child<QWidget>(bench.page, "machinePanel");
    const auto version = [machine] {
      for (const auto* label : machine->findChildren<QLabel*>()) {
        if (label->text() == "3.11.2") return true;
      }
      return false;
    };
    QTRY_VERIFY(version());
    QCOMPARE(saying().size(), 1);
  }

  void withoutAPyTorchForTheSamplesNothingIsWrong() {
    window::MachinePanel panel;
    const auto labels = [&panel](const QString& kind) {
      QStringList texts;
      for (const auto* label : panel.findChildren<QLabel*>()) {
        if (label->property("kind") == kind && !label->text().isEmpty()) texts << label->text();
      }
      return texts;
    };
    panel.showWorkerProblem(Error{ErrorCode::kVersionMismatch, "the samples need PyTorch 2.13.0"});
    QCOMPARE(labels("wrong"), QStringList());
    QVERIFY(labels("note").contains("the samples need PyTorch 2.13.0"));
    panel.showWorkerProblem(Error{ErrorCode::kNotFound, "there is no worker"});
    QCOMPARE(labels("wrong"), QStringList("there is no worker"));
  }

  void scrollingThePageChangesNoField() {
    const StartPageBench bench;
    for (auto* combo : bench.page.findChildren<QComboBox*>()) {
      const int before = combo->currentIndex();
      QWheelEvent wheel({5, 5}, combo->mapToGlobal(QPointF(5, 5)), {}, {0, -120}, Qt::NoButton,
                        Qt::NoModifier, Qt::NoScrollPhase, false);
      QApplication::sendEvent(combo, &wheel);
      QCOMPARE(combo->currentIndex(), before);
    }
  }

  void keysOfThePanesDoNothing() {
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    const bool follows = window.timeAxis().follows();
    QTest::keyClick(&window, Qt::Key_Space);
    QCOMPARE(window.timeAxis().follows(), follows);
    QVERIFY(!window.findChild<QAction*>("filterOpsAction")->isEnabled());
  }

  void dropsOfOtherThingsAreRefused() {
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    Dropped text{QString()};
    text.data.clear();
    text.data.setText("words");
    QVERIFY(!text.on(window));
  }

  void aSampleStartsAndThePageComesBack() {
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    auto* page = window.findChild<StartPage*>();
    emit page->runSampleRequested(QStringLiteral("memory-growth"));
    QVERIFY(!pageShown(window) && window.currentRun().live());
    QCOMPARE(window.currentRun().options().scenario, std::string("memory-growth"));
    QVERIFY(!window.findChild<QAction*>("startPageAction")->isEnabled());
    window.showStartPage(true);  // not over a run that is live
    QVERIFY(!pageShown(window));
    QTRY_VERIFY(!window.currentRun().store().steps().records.empty());
    window.currentRun().stop();
    QTRY_VERIFY(!window.currentRun().live());
    QVERIFY(window.findChild<QAction*>("startPageAction")->isEnabled());
    window.showStartPage(true);
    QVERIFY(pageShown(window));
  }

  void runRunsTheScriptThatIsNamed() {
    const QTemporaryDir folder;
    QFile script(folder.filePath("train.py"));
    QVERIFY(script.open(QIODevice::WriteOnly));
    MainWindow window(fakeWorker(), nullptr, MainWindow::Settings::kOff);
    window.show();
    auto* page = window.findChild<StartPage*>();
    QSignalSpy asked(page, &StartPage::runScriptRequested);
    disconnect(page, &StartPage::runScriptRequested, &window, &MainWindow::runScript);
    child<QComboBox>(window, "pythonField")->setEditText("sh");
    child<QLineEdit>(window, "scriptField")->setText(script.fileName());
    window.findChild<QAction*>("runAction")->trigger();
    QCOMPARE(asked.size(), 1);
    QCOMPARE(asked[0][0].value<session::ScriptOptions>().command[1], QString("train.py"));
  }
};

HIGHWATER_TEST(TestStartPage, QApplication)
#include "tst_start_page.moc"

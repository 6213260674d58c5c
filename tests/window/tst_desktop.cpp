// What the window does for a desktop: menus, keys, the Dock, and files that are opened from
// outside.
#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QFileOpenEvent>
#include <QIcon>
#include <QLabel>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QStatusBar>
#include <QTest>

#include "models/device_choices.h"
#include "support/active_window.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "support/window_bench.h"
#include "views/panels/banner.h"
#include "views/theme.h"
#include "window/start_page.h"
#include "window/window_actions.h"

using namespace highwater;
using views::Desktop;
using window::WindowActions;

namespace {

/// As the Finder does for a double click on a file.
void openFromFinder(const QString& path) {
  QFileOpenEvent event(path);
  QApplication::sendEvent(qApp, &event);
}

QStringList menus(const QMainWindow& window) {
  QStringList titles;
  for (const QAction* each : window.menuBar()->actions()) titles << each->text().remove('&');
  return titles;
}

}  // namespace

class TestDesktop : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<test::WindowBench> bench_;

  [[nodiscard]] QString record(const char* name) const {
    return test::recordIn(bench_->folder, QLatin1String(name), test::makeSampleRun({.steps = 20}));
  }
  [[nodiscard]] QString shown() const {
    return QString::fromStdString(bench_->window.currentRun().recordingPath().filename().string());
  }
  [[nodiscard]] QString banner() const {
    const auto* banner = bench_->window.findChild<views::Banner*>(QStringLiteral("endBanner"));
    return banner->isHidden() ? QString() : banner->message();
  }

 private slots:
  void initTestCase() { test::WindowBench::useFakeWorker(HIGHWATER_FAKE_WORKER); }
  void init() { bench_ = std::make_unique<test::WindowBench>(); }
  void cleanup() { bench_.reset(); }

  void opensAFileFromTheFinder() {
    openFromFinder(record("a.highwater"));
    QTRY_COMPARE(shown(), QString("a.highwater"));
    openFromFinder(record("b.highwater"));
    QTRY_COMPARE(shown(), QString("b.highwater"));
  }

  void opensItBeforeTheWindowIsShown() {
    window::MainWindow early({}, nullptr, window::MainWindow::Settings::kOff);
    bench_->window.close();
    openFromFinder(record("a.highwater"));
    early.resize(1600, 1000);
    early.showInFront();
    QTRY_COMPARE(QString::fromStdString(early.currentRun().recordingPath().filename().string()),
                 QString("a.highwater"));
    QVERIFY(!early.findChild<window::StartPage*>()->isVisible());
  }

  void opensTheFirstOfSeveral() {
    const QString a = record("a.highwater"), b = record("b.highwater"), c = record("c.highwater");
    for (const QString& each : {b, a, c, b}) openFromFinder(each);
    QTRY_COMPARE(shown(), QString("b.highwater"));
    // The list follows a turn of the event loop later.
    const auto* page = bench_->window.findChild<window::StartPage*>();
    for (const QString& each : {a, b, c}) {
      QTRY_VERIFY2(page->recentFiles(20).contains(each), qPrintable(each));
    }
  }

  void leavesARunAlone() {
    const QString a = record("a.highwater"), b = record("b.highwater"), c = record("c.highwater");
    bench_->window.startRun();
    QVERIFY(bench_->window.currentRun().live());
    const QString before = shown();
    const auto isRecent = [this](const QString& path) {
      return bench_->window.findChild<window::StartPage*>()->recentFiles(20).contains(path);
    };
    openFromFinder(a);
    QTRY_VERIFY(banner().contains("a run is going on"));
    QVERIFY2(banner().contains("the recording is in File"), qPrintable(banner()));
    QVERIFY(isRecent(a));
    openFromFinder(b);
    openFromFinder(c);
    QTRY_VERIFY(banner().contains("the 2 recordings are in File"));
    QVERIFY(isRecent(b) && isRecent(c));
    const QString said = bench_->window.statusBar()->currentMessage();
    QVERIFY2(!said.contains("is opened"), qPrintable(said));
    QVERIFY(bench_->window.currentRun().live());
    QCOMPARE(shown(), before);
  }

  void saysThatAFileIsGone() {
    openFromFinder(bench_->folder.filePath("gone.highwater"));
    QTRY_VERIFY(banner().contains("gone.highwater"));
  }

  void ctrlWClosesWhatIsInFront() {
    QDialog dialog(&bench_->window);
    dialog.show();
    test::makeActive(dialog);
    QTest::keyClick(&dialog, Qt::Key_W, Qt::ControlModifier);
    QVERIFY(!dialog.isVisible());
    QVERIFY(bench_->window.isVisible());
    test::makeActive(bench_->window);
    QTest::keyClick(&bench_->window, Qt::Key_W, Qt::ControlModifier);
    QVERIFY(!bench_->window.isVisible());
  }

  void closingStopsARunFirst() {
    bench_->window.startRun();
    QTRY_VERIFY(!bench_->window.currentRun().store().steps().records.empty());
    QTest::keyClick(&bench_->window, Qt::Key_W, Qt::ControlModifier);
    QTRY_VERIFY(!bench_->window.isVisible());
    const auto& end = bench_->window.currentRun().store().end();
    QVERIFY(end && end->reason == RunEnd::Reason::kStopped);
  }

  /// The process goes on while its script trains; before it is first shown a click shows nothing.
  void aClickInTheDockShowsAClosedWindow() {
    QEvent click(QEvent::ApplicationActivate);
    bench_->window.close();
    QVERIFY(!bench_->window.isVisible());
    QCoreApplication::sendEvent(qApp, &click);
    QVERIFY(bench_->window.isVisible());
    bench_->window.hide();
    const window::MainWindow early({}, nullptr, window::MainWindow::Settings::kOff);
    QCoreApplication::sendEvent(qApp, &click);
    QVERIFY(!early.isVisible());
  }

  void onlyAMacHasAMenuWindow() {
    QMainWindow mac, other;
    const WindowActions ofMac(&mac, Desktop::kMac), ofOther(&other, Desktop::kOther);
    QCOMPARE(menus(mac), QStringList({"File", "Run", "View", "Window", "Help"}));
    QCOMPARE(menus(other), QStringList({"File", "Run", "View", "Help"}));
    mac.show();
    const auto trigger = [&mac](const char* name) {
      mac.findChild<QAction*>(QLatin1String(name))->trigger();
    };
    trigger("zoomWindowAction");
    QVERIFY(mac.isMaximized());
    trigger("zoomWindowAction");
    QVERIFY(!mac.isMaximized());
    test::makeActive(mac);
    QTest::keyClick(&mac, Qt::Key_M, Qt::ControlModifier);
    QVERIFY(mac.isMinimized());
    mac.showNormal();
    test::makeActive(mac);
    trigger("bringToFrontAction");
    QCOMPARE(QApplication::activeWindow(), &mac);
  }

  /// The function keys and the forward delete of a MacBook are behind fn: menus name others.
  void aMacNamesKeysThatItHas() {
    QMainWindow mac, other;
    const WindowActions ofMac(&mac, Desktop::kMac), ofOther(&other, Desktop::kOther);
    for (const QAction* each : mac.actions()) {
      if (each->shortcut().isEmpty()) continue;
      const Qt::Key key = each->shortcut()[0].key();
      QVERIFY2((key < Qt::Key_F1 || key > Qt::Key_F35) && key != Qt::Key_Delete,
               qPrintable(each->text()));
    }
    QCOMPARE(ofMac.nextHit->shortcut(), QKeySequence(Qt::CTRL | Qt::Key_G));
    QVERIFY(ofMac.nextHit->shortcuts().contains(Qt::Key_F3));
    QCOMPARE(ofOther.nextHit->shortcut(), QKeySequence(Qt::Key_F3));
    QCOMPARE(ofOther.reload->shortcut(), QKeySequence(Qt::Key_F5));
    QVERIFY(ofMac.reload->toolTip().contains(
        QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_R).toString(QKeySequence::NativeText)));
    const views::DesktopKeys keys = views::desktopKeys(Desktop::kMac);
    QCOMPARE(keys.remove.front(), QKeySequence(Qt::CTRL | Qt::Key_Backspace));
    QCOMPARE(keys.rename.front(), QKeySequence(Qt::CTRL | Qt::Key_Return));
    // No key does two things.
    for (const QMainWindow* window : {&mac, &other}) {
      QList<QKeySequence> all;
      for (const QAction* each : window->actions()) all << each->shortcuts();
      for (const QKeySequence& each : all) {
        QVERIFY2(each.isEmpty() || all.count(each) == 1, qPrintable(each.toString()));
      }
    }
  }

  void theMenuOffersWhatThisMachineRuns() {
    const auto* menu = bench_->window.findChild<QMenu*>(QStringLiteral("deviceMenu"));
    QStringList offered, wanted;
    for (const QAction* each : menu->actions()) offered << each->data().toString();
    for (const auto& each : models::deviceChoices()) wanted << each.key;
    QCOMPARE(offered, wanted);
  }

  void theApplicationHasTheIcon() {
    QVERIFY(!QApplication::windowIcon().pixmap(128).isNull());
    const QDialog dialog;
    QCOMPARE(dialog.windowIcon().cacheKey(), QApplication::windowIcon().cacheKey());
  }

  void comesToTheFront() {
    QWidget terminal;
    terminal.show();
    test::makeActive(terminal);
    QVERIFY(!bench_->window.isActiveWindow());
    bench_->window.showInFront();
    QTRY_VERIFY(bench_->window.isActiveWindow());
  }

  /// At once, without a run that refreshes the status bar.
  void theNoteOnASimulatedDeviceFollowsTheTheme() {
    using window::ThemeChoice;
    QVERIFY(bench_->window.openRecording(record("a.highwater").toStdString()).ok());
    const auto* note = bench_->window.findChild<QLabel*>(QStringLiteral("statusSimulated"));
    QVERIFY(note->isVisible() && !note->text().isEmpty());
    for (const bool dark : {true, false, true}) {
      bench_->window.setTheme(dark ? ThemeChoice::kDark : ThemeChoice::kLight);
      const views::Theme& theme = dark ? views::Theme::dark() : views::Theme::light();
      QCOMPARE(note->palette().color(QPalette::WindowText), theme.orangeText);
    }
    bench_->window.setTheme(ThemeChoice::kSystem);
  }

  void aThemeOfOnesOwnIsTheDialogsToo() {
#if QT_VERSION < QT_VERSION_CHECK(6, 8, 0)
    using window::ThemeChoice;
    const auto native = [] {
      return !QCoreApplication::testAttribute(Qt::AA_DontUseNativeDialogs);
    };
    const ThemeChoice other = window::systemIsDark() ? ThemeChoice::kLight : ThemeChoice::kDark;
    bench_->window.setTheme(other);
    QVERIFY(!native());
    bench_->window.setTheme(window::systemIsDark() ? ThemeChoice::kDark : ThemeChoice::kLight);
    QVERIFY(native());
    bench_->window.setTheme(other);
    bench_->window.setTheme(ThemeChoice::kSystem);
    QVERIFY(native());
#else
    QSKIP("Qt 6.8 tells the platform, which nothing here can ask");
#endif
  }
};

HIGHWATER_TEST(TestDesktop, QApplication)
#include "tst_desktop.moc"

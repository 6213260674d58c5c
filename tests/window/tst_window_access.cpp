// Whether the window can be used without a mouse and by a screen reader: each control has a name,
// and Tab leads to it.
#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAccessible>
#include <QApplication>
#include <QButtonGroup>
#include <QComboBox>
#include <QDockWidget>
#include <QMenuBar>
#include <QScrollArea>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <set>

#include "support/own_home.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "window/main_window.h"
#include "window/theme_choice.h"

using namespace highwater;
using window::MainWindow;

namespace {

QString describe(const QWidget* widget) {
  QStringList path;
  for (const QWidget* each = widget; each; each = each->parentWidget()) {
    path.prepend(each->objectName().isEmpty() ? QLatin1String(each->metaObject()->className())
                                              : each->objectName());
  }
  return path.join('/');
}

/// The controls on screen that take the focus by Tab.
QList<QWidget*> controlsOf(const QWidget& window) {
  QList<QWidget*> controls;
  for (QWidget* each : window.findChildren<QWidget*>()) {
    const bool takesTab = (each->focusPolicy() & Qt::TabFocus) == Qt::TabFocus;
    // A field within a control has its focus from that.
    if (takesTab && !each->focusProxy() && each->isEnabled() && each->isVisible() &&
        !qobject_cast<QComboBox*>(each->parentWidget()) && each->window() == &window) {
      controls << each;
    }
  }
  return controls;
}

QString nameOf(QWidget* widget) {
  const QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(widget);
  return interface ? interface->text(QAccessible::Name) : QString();
}

}  // namespace

class TestWindowAccess : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { test::useOwnHome(); }

  void everyControlHasANameAndCanBeReached_data() {
    QTest::addColumn<bool>("page");
    QTest::addColumn<QSize>("size");
    for (const QSize size : {QSize(1600, 1000), QSize(1280, 800), QSize(800, 600)}) {
      for (const bool page : {true, false}) {
        QTest::addRow("%s, %d", page ? "start page" : "recording", size.width()) << page << size;
      }
    }
  }
  void everyControlHasANameAndCanBeReached() {
    QFETCH(bool, page);
    QFETCH(QSize, size);
    const QTemporaryDir folder;
    const QString path = test::recordIn(folder, "a.highwater",
                                        test::makeSampleRun({.steps = 40, .opsFromStep = 11}));
    MainWindow window({}, nullptr, MainWindow::Settings::kOff);
    window.resize(size);
    if (!page) QVERIFY(window.openRecording(path.toStdString()).ok());
    window.show();
    QVERIFY(QTest::qWaitForWindowActive(&window, test::kWaitMs));
    QApplication::processEvents();
    // The tab bars that QMainWindow makes for docks get their names a moment later.
    (void)QTest::qWaitFor(
        [&window] {
          const auto shown = controlsOf(window);
          return std::none_of(shown.begin(), shown.end(),
                              [](QWidget* each) { return nameOf(each).trimmed().isEmpty(); });
        },
        test::kWaitMs);
    const QList<QWidget*> controls = controlsOf(window);
    QVERIFY(controls.size() > 8);
    QStringList nameless, roleless;
    for (QWidget* each : controls) {
      if (nameOf(each).trimmed().isEmpty()) nameless << describe(each);
      const QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(each);
      if (!interface || interface->role() == QAccessible::NoRole) roleless << describe(each);
    }
    QVERIFY2(nameless.isEmpty(), qPrintable("without a name:\n" + nameless.join('\n')));
    QVERIFY2(roleless.isEmpty(), qPrintable("without a role:\n" + roleless.join('\n')));

    // Tab, often enough to come round.
    std::set<QWidget*> reached;
    for (qsizetype i = 0; i < 3 * controls.size() + 20; ++i) {
      QWidget* focus = QApplication::focusWidget();
      if (focus) reached.insert(focus);
      QTest::keyClick(focus ? focus : &window, Qt::Key_Tab);
    }
    QStringList unreached;
    for (QWidget* each : controls) {
      // Of buttons that exclude each other, the arrow keys choose.
      const auto* button = qobject_cast<QAbstractButton*>(each);
      const bool ofGroup = button && button->group() && button->group()->exclusive();
      if (!ofGroup && !reached.count(each) && each->isVisible() && each->isEnabled()) {
        unreached << describe(each);
      }
    }
    QVERIFY2(unreached.isEmpty(), qPrintable("Tab does not reach:\n" + unreached.join('\n')));
  }

  void everyStopOfTabIsVisible_data() {
    QTest::addColumn<bool>("page");
    QTest::addColumn<bool>("dark");
    for (const bool page : {true, false}) {
      for (const bool dark : {true, false}) {
        QTest::addRow("%s, %s", page ? "start page" : "recording", dark ? "dark" : "light")
            << page << dark;
      }
    }
  }
  void everyStopOfTabIsVisible() {
    QFETCH(bool, page);
    QFETCH(bool, dark);
    window::applyTheme(dark ? window::ThemeChoice::kDark : window::ThemeChoice::kLight);
    const QTemporaryDir folder;
    const QString path = test::recordIn(folder, "a.highwater",
                                        test::makeSampleRun({.steps = 40, .opsFromStep = 11}));
    MainWindow window({}, nullptr, MainWindow::Settings::kOff);
    if (!page) QVERIFY(window.openRecording(path.toStdString()).ok());
    window.show();
    QVERIFY(QTest::qWaitForWindowActive(&window, test::kWaitMs));
    window.renderNow();
    QApplication::processEvents();
    std::set<QWidget*> reached;
    QStringList unseen;
    for (int i = 0; i < 200; ++i) {
      QWidget* before = QApplication::focusWidget();
      QTest::keyClick(before ? before : &window, Qt::Key_Tab);
      QWidget* focus = QApplication::focusWidget();
      QVERIFY(focus);
      if (!reached.insert(focus).second) break;
      const QRect around(focus->mapTo(&window, QPoint(-3, -3)), focus->size() + QSize(6, 6));
      QApplication::processEvents();
      const QImage with = window.grab(around).toImage();
      focus->clearFocus();
      QApplication::processEvents();
      const QImage without = window.grab(around).toImage();
      focus->setFocus(Qt::TabFocusReason);
      if (with == without) unseen << describe(focus);
    }
    QVERIFY(reached.size() > 8);
    QVERIFY2(unseen.isEmpty(), qPrintable("the focus cannot be seen:\n" + unseen.join('\n')));
  }

  void aClickLeavesNoRing() {
    const QTemporaryDir folder;
    const QString path = test::recordIn(folder, "a.highwater", test::makeSampleRun());
    MainWindow window({}, nullptr, MainWindow::Settings::kOff);
    QVERIFY(window.openRecording(path.toStdString()).ok());
    window.show();
    QVERIFY(QTest::qWaitForWindowActive(&window, test::kWaitMs));
    auto* pane = window.findChild<QWidget*>(QStringLiteral("memoryPane"));
    auto* next = window.findChild<QWidget*>(QStringLiteral("timelinePane"));
    pane->setFocus(Qt::TabFocusReason);
    const auto* ring = pane->findChild<QWidget*>(QStringLiteral("focusRing"));
    QVERIFY(ring && ring->isVisible());
    QCOMPARE(ring->size(), pane->size());
    QTest::mouseClick(next, Qt::LeftButton, {}, QPoint(300, 40));
    QVERIFY(next->hasFocus());
    QVERIFY(!window.findChild<QWidget*>(QStringLiteral("focusRing")));
  }

  void everyClickableThingIsNamed() {
    const QTemporaryDir folder;
    const QString path = test::recordIn(folder, "a.highwater", test::makeSampleRun());
    MainWindow window({}, nullptr, MainWindow::Settings::kOff);
    QVERIFY(window.openRecording(path.toStdString()).ok());
    window.show();
    QStringList nameless;
    for (auto* button : window.findChildren<QAbstractButton*>()) {
      if (button->isVisible() && nameOf(button).trimmed().isEmpty()) nameless << describe(button);
    }
    for (auto* dock : window.findChildren<QDockWidget*>()) {
      if (dock->windowTitle().isEmpty()) nameless << describe(dock);
    }
    QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join('\n')));
  }
};

HIGHWATER_TEST(TestWindowAccess, QApplication)
#include "tst_window_access.moc"

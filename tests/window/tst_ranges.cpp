// Selecting and comparing ranges of a run in the window, by mouse and keyboard.
#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QDockWidget>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "models/compare_model.h"
#include "models/op_totals_model.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "views/lanes/lane_kind.h"
#include "views/panels/compare_panel.h"
#include "views/panels/dock_title.h"
#include "views/panels/selection_panel.h"
#include "views/panes/memory_pane.h"
#include "views/panes/timeline_pane.h"
#include "window/main_window.h"

using namespace highwater;
using views::Lane;
using views::Pin;
using window::MainWindow;

class TestRanges : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  template <typename T>
  [[nodiscard]] T* find(const char* name) const {
    return window_->findChild<T*>(QLatin1String(name));
  }
  /// A pane of the window: the page of a recording that is being opened has panes of its own.
  template <typename T>
  [[nodiscard]] T* pane(const char* name) const {
    for (T* each : window_->findChildren<T*>(QLatin1String(name))) {
      if (each->isVisible()) return each;
    }
    return nullptr;
  }
  [[nodiscard]] views::TimeAxis& axis() const { return window_->timeAxis(); }
  [[nodiscard]] const analysis::LiveStore& store() const { return window_->currentRun().store(); }
  [[nodiscard]] int rowsOf(const char* table) const {
    return find<QTableView>(table)->model()->rowCount();
  }
  [[nodiscard]] QString pickedTitle() const { return subtitle("selectionDock"); }
  [[nodiscard]] QString subtitle(const char* dock) const {
    return views::DockTitle::of(find<QDockWidget>(dock))->subtitle();
  }
  /// The middle of a step in the memory pane, by its index.
  [[nodiscard]] int pixelOf(std::size_t step) const {
    const auto& record = store().steps().records[step];
    return static_cast<int>(pane<views::MemoryPane>("memoryPane")
                                ->views::TimePane::scale()
                                .pixelAt(record.begin_ns() + record.duration_ns() / 2));
  }
  /// Drags in the memory pane between the middles of two steps.
  void drag(std::size_t from, std::size_t to) const { dragPixels(pixelOf(from), pixelOf(to)); }
  void dragPixels(int from, int to) const {
    auto* pane = this->pane<views::MemoryPane>("memoryPane");
    QTest::mousePress(pane, Qt::LeftButton, {}, {from, 90});
    // QTest moves the system's mouse, which stays on the screen; the window is larger.
    for (const int x : {(from + to) / 2, to}) {
      QMouseEvent move(QEvent::MouseMove, QPointF(x, 90), pane->mapToGlobal(QPointF(x, 90)),
                       Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
      QApplication::sendEvent(pane, &move);
    }
    QTest::mouseRelease(pane, Qt::LeftButton, {}, {to, 90});
  }
  void press(Qt::Key key) const { QTest::keyClick(window_.get(), key); }

 private slots:
  void init() {
    window_ =
        std::make_unique<MainWindow>(session::LaunchOptions{}, nullptr, MainWindow::Settings::kOff);
    window_->resize(1600, 1000);
    const QString path = test::recordIn(
        folder_, QStringLiteral("run.highwater"),
        test::makeSampleRun({.steps = 60, .unplannedSyncEvery = 3, .opsFromStep = 40}));
    QVERIFY(window_->openRecording(path.toStdString()).ok());
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get(), test::kWaitMs));
    QTRY_COMPARE(store().steps().records.size(), std::size_t{60});
    window_->renderNow();
    axis().fit();
    window_->renderNow();
  }
  void cleanup() { window_.reset(); }

  void everythingFollowsADrag() {
    QTRY_COMPARE(rowsOf("stepTable"), 60);
    QCOMPARE(subtitle("selectionDock"), QString());
    drag(9, 29);
    // Steps 10 and 30 are cut: 11 to 29.
    QTRY_COMPARE(rowsOf("stepTable"), 19);
    QCOMPARE(subtitle("selectionDock"), QString("steps 11–29"));
    QCOMPARE(rowsOf("opsTable"), 0);
    QTRY_VERIFY(subtitle("findingsDock").endsWith("in the selection"));
    // The same as a summary of the range.
    const auto summary = analysis::summarize(store(), axis().selection());
    const auto* fallbacks = find<QTableView>("fallbackTable")->model();
    QCOMPARE(fallbacks->index(0, models::OpTotalsModel::kCount).data().toString(),
             QString::number(summary.fallbacks.front().count));
    // An edge can be moved afterwards.
    const auto* pane = this->pane<views::MemoryPane>("memoryPane");
    const double edge = pane->views::TimePane::scale().pixelAt(axis().selection()->endNs);
    dragPixels(static_cast<int>(edge) + 2, pixelOf(49));
    QTRY_COMPARE(rowsOf("stepTable"), 39);
    QTRY_VERIFY(rowsOf("opsTable") > 0);
    press(Qt::Key_Escape);
    QVERIFY(!axis().selection());
    QTRY_COMPARE(rowsOf("stepTable"), 60);
    QTRY_VERIFY(!subtitle("findingsDock").contains("selection"));
  }

  /// An event that was picked before stands above the numbers in a small window.
  void theNumbersOfADraggedRangeAreInView() {
    window_->resize(1280, 760);
    window_->renderNow();
    press(Qt::Key_Period);  // picks a span
    QTRY_VERIFY(!subtitle("selectionDock").isEmpty());
    auto* numbers = find<views::SelectionPanel>("selectionPanel");
    auto* area = qobject_cast<QScrollArea*>(find<QDockWidget>("selectionDock")->widget());
    const auto topOfNumbers = [&] { return numbers->mapTo(area->viewport(), QPoint(0, 0)).y(); };
    QTRY_VERIFY(topOfNumbers() > 100);
    drag(9, 29);
    const int most = area->verticalScrollBar()->maximum();
    QTRY_VERIFY(topOfNumbers() == 0 || area->verticalScrollBar()->value() == most);
    QVERIFY(area->verticalScrollBar()->value() > 0);
    press(Qt::Key_Period);
    QTRY_COMPARE(area->verticalScrollBar()->value(), 0);
  }

  /// A comparison hides the numbers until something is selected.
  void theNumbersOfARangeDraggedDuringAComparisonAreInView() {
    window_->resize(1280, 760);
    window_->renderNow();
    drag(3, 25);
    press(Qt::Key_BracketLeft);
    drag(31, 58);
    press(Qt::Key_BracketRight);
    QVERIFY(axis().compares());
    auto* numbers = find<views::SelectionPanel>("selectionPanel");
    QTRY_VERIFY(!numbers->isVisible());
    press(Qt::Key_Period);  // picks a span, which moves them down
    QTRY_VERIFY(subtitle("selectionDock") != "A with B");
    drag(9, 29);
    QTRY_VERIFY(numbers->isVisible());
    auto* area = qobject_cast<QScrollArea*>(find<QDockWidget>("selectionDock")->widget());
    QVERIFY(numbers->y() > 100);
    QCOMPARE(area->verticalScrollBar()->value(),
             std::min(numbers->y(), area->verticalScrollBar()->maximum()));
  }

  void twoRangesAreCompared() {
    auto* compare = find<views::ComparePanel>("comparePanel");
    auto* selection = find<views::SelectionPanel>("selectionPanel");
    auto* tabs = find<QTabBar>("eventTabs");
    const int tabsBefore = tabs->count();
    press(Qt::Key_BracketLeft);
    QVERIFY(!axis().pinned(Pin::kA));  // nothing is selected
    drag(3, 25);
    press(Qt::Key_BracketLeft);
    QVERIFY(axis().pinned(Pin::kA) && !axis().selection());
    QVERIFY(!compare->isVisible());
    drag(31, 58);
    auto* pinB = find<QToolButton>("pinBButton");
    QTRY_VERIFY(pinB->isVisible());
    QTest::mouseClick(pinB, Qt::LeftButton);
    QVERIFY(axis().compares());
    QVERIFY(compare->isVisible() && !selection->isVisible());
    QCOMPARE(subtitle("selectionDock"), QString("A with B"));
    QCOMPARE(tabs->count(), tabsBefore + 1);
    QCOMPARE(tabs->tabText(tabs->currentIndex()), QString("Waits and fallbacks, A with B"));
    // The batch doubles at step 30.
    QVERIFY2(compare->verdict().contains("more tokens/s, beyond the noise"),
             qPrintable(compare->verdict()));
    const auto compared =
        analysis::compareRanges(store(), *axis().pinned(Pin::kA), *axis().pinned(Pin::kB));
    const auto numbers = compare->numbers();
    QCOMPARE(numbers.front().name, QString("Step p95, ms"));
    QCOMPARE(numbers.front().a, QString::number(compared->of("step_ms.p95").a, 'f', 1));
    QCOMPARE(numbers.front().b, QString::number(compared->of("step_ms.p95").b, 'f', 1));
    QVERIFY(numbers.front().beyond && numbers.front().change.startsWith('+'));
    QCOMPARE(compare->phases().size(), std::size_t{6});
    QCOMPARE(rowsOf("compareTable"), static_cast<int>(compared->ops.size()));
    QVERIFY(!window_->grab().isNull());

    // A row goes to the range where it costs more.
    auto* table = find<QTableView>("compareTable");
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                      table->visualRect(table->model()->index(0, 0)).center());
    const auto& b = *axis().pinned(Pin::kB);
    QVERIFY(axis().visible().beginNs <= b.endNs && axis().visible().endNs >= b.beginNs);
    press(Qt::Key_Escape);  // the picked event
    QVERIFY(axis().compares());

    QTest::mouseClick(find<QToolButton>("swapPinsButton"), Qt::LeftButton);
    QVERIFY2(compare->verdict().contains("fewer tokens/s"), qPrintable(compare->verdict()));
    // A new selection is shown first; without it the comparison is back.
    axis().fit();
    drag(10, 20);
    QTRY_VERIFY(selection->isVisible() && !compare->isVisible());
    press(Qt::Key_Escape);
    QTRY_VERIFY(compare->isVisible());
    press(Qt::Key_Escape);
    QVERIFY(!axis().compares() && !compare->isVisible() && selection->isVisible());
    QCOMPARE(tabs->count(), tabsBefore);
  }

  void aRowGoesToItsPlaceAndBack() {
    auto* tabs = find<QTabBar>("eventTabs");
    const auto clickFirst = [&](const char* name, int tab) {
      if (tab >= 0) tabs->setCurrentIndex(tab);
      auto* table = find<QTableView>(name);
      QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                        table->visualRect(table->model()->index(0, 0)).center());
      return table->model()->index(0, 0).data(models::OpTotalsModel::kOpNameRole).toString();
    };
    auto* timeline = this->pane<views::TimelinePane>("timelinePane");
    // The longest fallback is picked, and in view.
    clickFirst("fallbackTable", 0);
    QVERIFY2(pickedTitle().startsWith("embedding_renorm_, step"), qPrintable(pickedTitle()));
    // A short op is zoomed to.
    axis().fit();
    const QString op = clickFirst("opsTable", 1);
    QVERIFY(!op.isEmpty());
    std::int64_t longest = 0;
    for (std::size_t row = store().ops().firstRow; row < store().ops().endRow(); ++row) {
      const auto& each = *store().ops().at(row);
      if (QString::fromStdString(store().name(each.op())) == op) {
        longest = std::max(longest, each.duration_ns());
      }
    }
    QVERIFY(axis().visibleNs() < 501 * longest);
    QVERIFY(pickedTitle().contains("step"));
    clickFirst("stepTable", 2);
    QCOMPARE(pickedTitle(), QString("step 60"));
    clickFirst("syncTable", -1);
    QVERIFY(pickedTitle().contains(", step"));

    // And back: a click on the timeline shows the row in its table.
    axis().fit();
    window_->renderNow();
    tabs->setCurrentIndex(2);
    const auto range = views::timeRangeOf(store(), {Lane::kFallbacks, 3});
    axis().zoomTo({range.beginNs - 50'000'000, range.endNs + 50'000'000});
    window_->renderNow();
    const auto& row = timeline->rows().of(Lane::kFallbacks);
    QTest::mouseClick(timeline, Qt::LeftButton, {},
                      {int(timeline->scale().pixelAt((range.beginNs + range.endNs) / 2)),
                       int(row.top + row.height / 2)});
    QVERIFY2(pickedTitle().startsWith("embedding_renorm_, step"), qPrintable(pickedTitle()));
    QCOMPARE(tabs->currentIndex(), 0);
    QCOMPARE(find<QTableView>("fallbackTable")->currentIndex().row(), 0);
  }

  void theKeysAreTold() {
    find<QAction>("keysAction")->trigger();
    auto* dialog = window_->findChild<QDialog*>(QStringLiteral("keysDialog"));
    QVERIFY(dialog && dialog->isVisible());
    QStringList texts;
    for (const QLabel* label : dialog->findChildren<QLabel*>()) texts << label->text();
    for (const char* key : {"Drag", "Shift+drag", "Wheel, pinch", "[  ]", "Esc"}) {
      QVERIFY2(texts.contains(QLatin1String(key)), key);
    }
    // On the smallest screen that the window is made for.
    QVERIFY(dialog->sizeHint().height() <= 560);
    QVERIFY(dialog->sizeHint().width() <= 800);
    dialog->close();
  }
};

HIGHWATER_TEST(TestRanges, QApplication)
#include "tst_ranges.moc"

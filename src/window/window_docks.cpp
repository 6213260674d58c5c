#include "window/window_docks.h"

#include <QDockWidget>
#include <QEvent>
#include <QLayout>
#include <QMainWindow>
#include <QMenu>
#include <QScrollArea>
#include <QScrollBar>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "analysis/named_phases.h"
#include "analysis/run_summary.h"
#include "analysis/settings_change.h"
#include "analysis/whole_steps.h"
#include "core/units.h"
#include "models/qt_text.h"
#include "views/lanes/event_text.h"
#include "views/panels/compare_panel.h"
#include "views/panels/controls_panel.h"
#include "views/panels/dock_title.h"
#include "views/panels/event_panel.h"
#include "views/panels/link_button.h"
#include "views/panels/script_controls.h"
#include "views/panels/selection_panel.h"
#include "views/tuning/tuning_panel.h"
#include "window/bottom_tables.h"
#include "window/findings_dock.h"
#include "window/sweep_table.h"

namespace highwater::window {

using views::DockTitle;

namespace {

constexpr int kSelectionMs = 60;
constexpr int kDockTitle = 28;
constexpr int kCompactColumn = 292;  ///< width of the one column of docks in a compact window

/// The docks' widths on both sides, the limits of the tables' height, and the height of the
/// Selection's numbers.
struct DockSizes {
  int left, right, leastTables, mostTables, numbers;
};
/// Without a selection a live run shows the numbers of so many of its newest steps.
constexpr std::size_t kNewestSteps = 50;
/// On a device with a queue they need so many steps since the last change: the host runs ahead of
/// it, so that its first steps are short and say nothing of the device.
constexpr std::size_t kLeastSteps = 3;

constexpr DockSizes kSmallSizes{236, 288, 104, 150, 368};
constexpr DockSizes kRoomySizes{256, 328, 174, 300, 462};

/// The height of a dock whose table cuts no row, at most `height`. The head is as high as a row.
int wholeRows(int height) {
  constexpr int kRow = 24;
  return kDockTitle + (height - kDockTitle) / kRow * kRow + 1;
}

/// `name` is for screen readers: the keyboard can scroll the area.
QScrollArea* scrolled(QWidget* content, const QString& name, QWidget* parent) {
  auto* area = new QScrollArea(parent);
  area->setAccessibleName(name);
  area->setWidget(content);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  return area;
}

/// Scrolls a dock's area to a part of its content, or to its top.
void scrollTo(const QDockWidget* dock, const QWidget* part) {
  auto* area = qobject_cast<QScrollArea*>(dock->widget());
  area->widget()->layout()->activate();
  area->verticalScrollBar()->setValue(part ? part->y() : 0);
}

}  // namespace

WindowDocks::WindowDocks(QMainWindow* window, const analysis::LiveStore* store,
                         views::TimeAxis* axis, views::EventFocus* focus,
                         models::TuningState* tuning)
    : QObject(window),
      window_(window),
      store_(store),
      axis_(axis),
      focus_(focus),
      wholeRun_(store),
      tuning_(tuning) {
  window_->setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
  window_->setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  window_->installEventFilter(this);
  window_->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  makeLeft();
  makeRight();
  makeBottom();
  refresh();
  connect(focus_, &views::EventFocus::changed, this, [this] {
    refreshSelectionTitle();
    scrollsToNumbers_ = false;
    scrollTo(selectionDock_, nullptr);
  });
  // A drag changes the selection with every mouse move: the numbers follow at a lower rate.
  selectionTimer_.setSingleShot(true);
  selectionTimer_.setInterval(kSelectionMs);
  connect(&selectionTimer_, &QTimer::timeout, this, &WindowDocks::refresh);
  connect(axis_, &views::TimeAxis::selectionChanged, this, [this] {
    if (!selectionTimer_.isActive()) {
      selectionTimer_.start();
    }
    findings_->refreshLater();
    // The numbers of a range that is being dragged, and not the event that was picked before it.
    scrollsToNumbers_ = axis_->selection().has_value();
    // In a compact window the numbers of the new range would stay behind another tab.
    if (compact_ && axis_->selection()) selectionDock_->raise();
  });
  connect(axis_, &views::TimeAxis::pinsChanged, this, [this] {
    refresh();
    if (compact_ && showsComparison()) selectionDock_->raise();
  });
}

QDockWidget* WindowDocks::makeDock(const QString& title, const char* name,
                                   Qt::DockWidgetArea area) {
  auto* dock = new QDockWidget(title, window_);
  dock->setObjectName(QLatin1String(name));
  dock->setTitleBarWidget(new DockTitle(title, dock));
  window_->addDockWidget(area, dock);
  return dock;
}

void WindowDocks::makeLeft() {
  controlsDock_ = makeDock(tr("Controls"), "controlsDock", Qt::LeftDockWidgetArea);
  controls_ = new views::ControlsPanel;
  controls_->setTuning(tuning_);
  scriptControls_ = new views::ScriptControls(store_);
  bothControls_ = new QStackedWidget(controlsDock_);
  bothControls_->addWidget(scrolled(controls_, tr("Controls"), bothControls_));
  bothControls_->addWidget(scrolled(scriptControls_, tr("Controls of the script"), bothControls_));
  controlsDock_->setWidget(bothControls_);
}

void WindowDocks::showControlsOf(bool script) {
  bothControls_->setCurrentIndex(script ? 1 : 0);
}

void WindowDocks::makeRight() {
  selectionDock_ = makeDock(tr("Selection"), "selectionDock", Qt::RightDockWidgetArea);
  selection_ = new views::SelectionPanel;
  connect(selection_, &views::SelectionPanel::deviceTimeChosen, this,
          [this] { showDeviceShare(); });
  auto* both = new QWidget;
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(new views::EventPanel(store_, focus_, both));
  column->addWidget(selection_, 1);
  compare_ = new views::ComparePanel(both);
  compare_->hide();
  column->addWidget(compare_, 1);
  selectionDock_->setWidget(scrolled(both, tr("Selection"), selectionDock_));
  const auto pinButton = [this](const QString& text, const char* name, const QString& tip,
                                views::Pin pin) {
    QToolButton* button = views::linkButton(text, name, selectionDock_);
    button->setToolTip(tip);
    button->hide();
    DockTitle::of(selectionDock_)->addWidget(button);
    connect(button, &QToolButton::clicked, this, [this, pin] { axis_->pinSelection(pin); });
    return button;
  };
  pinA_ = pinButton(tr("Pin A"), "pinAButton", tr("Pin the selection as A, to compare it ([)"),
                    views::Pin::kA);
  pinB_ = pinButton(tr("Pin B"), "pinBButton", tr("Pin the selection as B, to compare it (])"),
                    views::Pin::kB);
  swap_ = views::linkButton(tr("Swap"), "swapPinsButton", selectionDock_);
  swap_->setToolTip(tr("Exchange A and B"));
  swap_->hide();
  DockTitle::of(selectionDock_)->addWidget(swap_);
  connect(swap_, &QToolButton::clicked, axis_, &views::TimeAxis::swapPins);
  clearSelection_ = views::linkButton(tr("Clear"), "clearSelectionButton", selectionDock_);
  clearSelection_->setToolTip(tr("Clear the selection (Esc)"));
  clearSelection_->hide();
  DockTitle::of(selectionDock_)->addWidget(clearSelection_);
  connect(clearSelection_, &QToolButton::clicked, this, [this] {
    const bool compares = showsComparison();
    axis_->clearSelection();
    focus_->clear();
    if (compares) {
      axis_->clearPins();
    }
  });

  tuningDock_ = makeDock(tr("Tuning"), "tuningDock", Qt::RightDockWidgetArea);
  tuningPanel_ = new views::TuningPanel(store_, tuning_);
  tuningDock_->setWidget(scrolled(tuningPanel_, tr("Tuning"), tuningDock_));
  tuningDock_->hide();

  findingsDock_ = makeDock(tr("Findings"), "findingsDock", Qt::RightDockWidgetArea);
  findings_ = new FindingsDock(findingsDock_, DockTitle::of(findingsDock_), store_, axis_, focus_);
  connect(findings_, &FindingsDock::acceptRequested, this, &WindowDocks::acceptRequested);
  connect(findings_, &FindingsDock::withdrawRequested, this, &WindowDocks::withdrawRequested);
  connect(findings_, &FindingsDock::memoryGrows, tuning_, &models::TuningState::setMemoryGrows);
}

void WindowDocks::makeBottom() {
  eventsDock_ =
      makeDock(tr("Fallbacks, ops, steps and log"), "eventsDock", Qt::BottomDockWidgetArea);
  syncDock_ = makeDock(tr("Sync points"), "syncDock", Qt::BottomDockWidgetArea);
  tables_ = new BottomTables(eventsDock_, syncDock_, store_, axis_, focus_);
  connect(tables_, &BottomTables::acceptRequested, this, &WindowDocks::acceptRequested);
  connect(tables_, &BottomTables::withdrawRequested, this, &WindowDocks::withdrawRequested);
  auto* sweepTable = new SweepTable(tuning_, tables_, eventsDock_);
  connect(sweepTable, &SweepTable::settingPicked, this, &WindowDocks::settingPicked);
  window_->splitDockWidget(eventsDock_, syncDock_, Qt::Horizontal);
}

void WindowDocks::setCompact(bool tall) {
  compact_ = true;
  QDockWidget* above = nullptr;
  const QList<QDockWidget*> column = tall ? QList{selectionDock_, controlsDock_, findingsDock_}
                                          : QList{findingsDock_, selectionDock_, controlsDock_};
  for (QDockWidget* dock : column) {
    if (dock->isFloating()) continue;
    // Takes it out of its place, which may be in a group of tabs.
    window_->addDockWidget(Qt::RightDockWidgetArea, dock, Qt::Vertical);
    if (above && !(tall && dock == findingsDock_)) {
      window_->tabifyDockWidget(above, dock);
    }
    above = dock;
  }
  column.front()->raise();
  widenColumn();
  if (tall) {
    const int numbers = kDockTitle * 2 + kSmallSizes.numbers;
    window_->resizeDocks({selectionDock_, findingsDock_},
                         {numbers, window_->height() - 120 - numbers}, Qt::Vertical);
  }
  window_->layout()->activate();  // makes the tab bars
  tidyTabBars();
}

void WindowDocks::widenColumn() {
  window_->resizeDocks({findingsDock_, selectionDock_}, {kCompactColumn, kCompactColumn},
                       Qt::Horizontal);
}

void WindowDocks::tidyTabBars() {
  for (QTabBar* tabs : window_->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    tabs->setAccessibleName(tr("Docks"));
    // After docks were moved QMainWindow may leave an empty one in sight.
    if (tabs->count() < 2 || tabs->isHidden()) tabs->setVisible(tabs->count() > 1);
  }
}

/// QMainWindow makes tab bars where docks are tabs.
bool WindowDocks::eventFilter(QObject* watched, QEvent* event) {
  const bool isOfTabs =
      event->type() == QEvent::ChildAdded || event->type() == QEvent::LayoutRequest;
  if (isOfTabs && !std::exchange(tidyLater_, true)) {
    // What it is shows only once it has been constructed.
    QMetaObject::invokeMethod(
        this,
        [this] {
          tidyLater_ = false;
          tidyTabBars();
        },
        Qt::QueuedConnection);
  }
  return QObject::eventFilter(watched, event);
}

void WindowDocks::showTuning(bool shown) {
  tuningDock_->setVisible(shown);
  if (!shown) return;
  if (!tuningDock_->isFloating()) {
    window_->tabifyDockWidget(selectionDock_, tuningDock_);
    window_->layout()->activate();  // makes the tab bar
    tidyTabBars();
  }
  tuningDock_->raise();
}

void WindowDocks::showWhoSetsKnobs(bool sweep) {
  DockTitle::of(controlsDock_)->setSubtitle(sweep ? tr("set by the sweep") : QString());
}

void WindowDocks::hideEmpty() {
  if (small_) syncDock_->hide();
}

void WindowDocks::setSmall(bool small) {
  compact_ = false;
  const auto [left, right, leastTables, mostTables, ofNumbers] = small ? kSmallSizes : kRoomySizes;
  const int bottom = wholeRows(std::clamp(window_->height() / 6, leastTables, mostTables));
  const bool changes = small != small_;
  small_ = small;
  tables_->setSmall(small);
  if (changes && !shown_) {
    // It has shown or hidden the dock of the sync points.
    hidden_.removeAll(syncDock_);
    if (!small) hidden_ << syncDock_;
    syncDock_->hide();
  }
  refresh();
  window_->resizeDocks({controlsDock_}, {left}, Qt::Horizontal);
  window_->resizeDocks({selectionDock_, findingsDock_}, {right, right}, Qt::Horizontal);
  // The numbers get the height that they need, the findings the rest. A live run will have more.
  const int tall = window_->height() - 120;
  const int needed = store_->end() && !live_ ? selection_->sizeHint().height() : ofNumbers;
  const int numbers = std::min(kDockTitle + std::min(needed, ofNumbers), tall / 2 + 40);
  window_->resizeDocks({selectionDock_, findingsDock_}, {numbers, tall - numbers}, Qt::Vertical);
  window_->resizeDocks({eventsDock_}, {bottom}, Qt::Vertical);
  if (!small) {
    window_->resizeDocks({eventsDock_, syncDock_}, {1120, 880}, Qt::Horizontal);
  }
}

void WindowDocks::startOver() {
  wholeRun_.reset();
  summaryOf_.reset();
  tables_->startOver();
  findings_->startOver();  // before refresh(), which begins a check if there is none
  refresh();
  comparisonOf_ = {};
}

const analysis::RunSummary& WindowDocks::summary() {
  const auto& selection = axis_->selection();
  if (!selection) {
    summary_ = wholeRun_.update();
    summaryOf_.reset();
    return summary_;
  }
  const bool same = summaryOf_ && summaryOf_->beginNs == selection->beginNs &&
                    summaryOf_->endNs == selection->endNs;
  if (!same) {
    summary_ = wholeRun_.in(*selection);
    // Nothing can be added any more to a range that lies before this time.
    const bool complete = selection->endNs <= store_->completeUpToNs();
    summaryOf_ = complete ? selection : std::nullopt;
  }
  return summary_;
}

void WindowDocks::refresh() {
  selectionTimer_.stop();
  const analysis::RunSummary& summary = this->summary();
  refreshComparison();
  tables_->refresh(summary);
  findings_->refresh();
  tuning_->refresh();
  refreshNumbers(summary);
  showDeviceShare();
  // Only now: they are hidden while A and B are compared, until something is selected.
  if (std::exchange(scrollsToNumbers_, false)) scrollTo(selectionDock_, selection_);
  refreshSelectionTitle();
}

void WindowDocks::setLive(bool live) {
  live_ = live;
}

/// The selected range if there is one, else the newest steps of a live run, else the whole run.
void WindowDocks::refreshNumbers(const analysis::RunSummary& summary) {
  const auto& selection = axis_->selection();
  views::SelectionNumbers numbers;
  numbersOf_ = selection.value_or(axis_->extent());
  if (selection || !live_) {
    numbers.summary = summary;
    numbers.head = selection ? tr("Selected range") : tr("Whole run");
    numbers.none = selection ? tr("No whole step lies in the selected range")
                             : tr("Numbers of the steps appear here. Drag in a pane or in the "
                                  "ruler to select a range");
    numbers.settings = analysis::settingsIn(*store_, numbersOf_);
  } else {
    const analysis::RecentSteps recent = analysis::recentSteps(*store_, kNewestSteps);
    if (recent.count > 0) {
      numbersOf_ =
          analysis::firstToLast(std::span(store_->steps().records).subspan(recent.firstRow));
      numbers.summary = wholeRun_.in(numbersOf_);
    }
    const QString since = text(recent.since);
    numbers.head =
        recent.since.empty() ? tr("Newest %1 steps").arg(recent.count) : tr("Since %1").arg(since);
    numbers.none = recent.since.empty() ? tr("Numbers of the newest steps appear here")
                                        : tr("No step has ended since %1").arg(since);
    numbers.fillsQueue = recent.count < kLeastSteps && store_->hasQueue();
  }
  if (live_) numbers.machine = models::machineRows(*store_);
  // Of the steps: before the first, a script imports and loads.
  const analysis::StepRows steps = analysis::wholeStepsIn(*store_, numbersOf_);
  const views::TimeRange of = steps.empty() ? numbersOf_ : analysis::firstToLast(steps.in(*store_));
  numbers.lengthNs = of.endNs - of.beginNs;
  numbers.rate = text(store_->rateText(numbers.summary.tokensPerS > 0
                                           ? numbers.summary.tokensPerS
                                           : std::numeric_limits<double>::quiet_NaN()));
  selection_->setOutsideHint(text(analysis::phaseNamingHint(*store_, numbers.summary)));
  selection_->showNumbers(std::move(numbers));
}

void WindowDocks::showDeviceShare() {
  if (selection_->showsDeviceTime()) {
    selection_->showDeviceShare(analysis::deviceShareIn(*store_, numbersOf_));
  }
}

/// The picked event if there is one, else what the numbers are of.
void WindowDocks::refreshSelectionTitle() {
  const auto& picked = focus_->picked();
  const auto& range = axis_->selection();
  const bool compares = showsComparison();
  const bool eventShown = picked && views::exists(*store_, *picked);
  DockTitle::of(selectionDock_)->setTitle(compares ? tr("Compare") : tr("Selection"));
  QString title = compares && !eventShown ? tr("A with B") : QString();
  if (picked && views::exists(*store_, *picked)) {
    title = views::eventTitle(*store_, *picked);
  } else if (range && summary_.steps > 0) {
    title = summary_.steps == 1 ? tr("step %1").arg(summary_.firstStep)
                                : tr("steps %1–%2").arg(summary_.firstStep).arg(summary_.lastStep);
  } else if (range) {
    title = tr("%1 to %2")
                .arg(QString::fromStdString(formatRunTime(range->beginNs)),
                     QString::fromStdString(formatRunTime(range->endNs)));
  }
  DockTitle::of(selectionDock_)->setSubtitle(title);
  clearSelection_->setVisible(picked || range || compares);
  clearSelection_->setToolTip(compares ? tr("Unpin A and B (Esc)")
                                       : tr("Clear the selection (Esc)"));
  pinA_->setVisible(range.has_value());
  pinB_->setVisible(range.has_value());
  swap_->setVisible(compares);
}

bool WindowDocks::showsComparison() const {
  return axis_->compares() && !axis_->selection();
}

void WindowDocks::refreshComparison() {
  const auto& a = axis_->pinned(views::Pin::kA);
  const auto& b = axis_->pinned(views::Pin::kB);
  if (!axis_->compares()) {
    comparison_.reset();
    comparisonOf_ = {};
    tables_->showComparison(nullptr);
  } else {
    const auto same = [](const std::optional<views::TimeRange>& x, const views::TimeRange& y) {
      return x && x->beginNs == y.beginNs && x->endNs == y.endNs;
    };
    if (!same(comparisonOf_[0], *a) || !same(comparisonOf_[1], *b)) {
      comparison_ = analysis::compareRanges(*store_, *a, *b);
      const bool complete = std::max(a->endNs, b->endNs) <= store_->completeUpToNs();
      comparisonOf_ = complete ? std::array<std::optional<views::TimeRange>, 2>{a, b}
                               : decltype(comparisonOf_){};
      compare_->showComparison(comparison_, a->endNs - a->beginNs, b->endNs - b->beginNs);
      tables_->showComparison(comparison_ ? &*comparison_ : nullptr);
    }
  }
  selection_->setVisible(!showsComparison());
  compare_->setVisible(showsComparison());
}

QList<QDockWidget*> WindowDocks::all() const {
  return {controlsDock_, selectionDock_, tuningDock_, findingsDock_, eventsDock_, syncDock_};
}

void WindowDocks::setShown(bool shown) {
  if (shown == shown_) return;
  shown_ = shown;
  for (QDockWidget* dock : shown ? hidden_ : all()) {
    if (!shown && !dock->isHidden()) hidden_ << dock;
    dock->setVisible(shown);
  }
  if (shown) hidden_.clear();
  for (QDockWidget* dock : all()) dock->toggleViewAction()->setEnabled(shown);
}

void WindowDocks::showAll() {
  for (QDockWidget* dock : all()) {
    dock->setFloating(false);
    // In a small window the sync points are a tab of another dock.
    dock->setVisible(dock != syncDock_ || !small_);
  }
}

void WindowDocks::addTo(QMenu* menu) const {
  for (QDockWidget* dock : all()) menu->addAction(dock->toggleViewAction());
}

}  // namespace highwater::window

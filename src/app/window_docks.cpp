#include "app/window_docks.h"

#include <QDockWidget>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QMainWindow>
#include <QMenu>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "analysis/run_summary.h"
#include "app/findings_dock.h"
#include "core/units.h"
#include "views/controls_panel.h"
#include "views/dock_title.h"
#include "views/event_panel.h"
#include "views/event_table.h"
#include "views/event_text.h"
#include "views/key_value_view.h"
#include "views/selection_panel.h"

namespace highwater::app {

using models::OpTimesModel;
using models::OpTotalsModel;
using models::StepModel;
using views::DockTitle;
using views::EventTable;
using views::Lane;

namespace {

constexpr int kLazyMs = 60;
constexpr int kDockTitle = 28;
/// How high the numbers of the selection are: at their least, and with room.
constexpr int kLeastNumbers = 352, kNumbers = 440;

DockTitle* titleOf(QDockWidget* dock) {
  return static_cast<DockTitle*>(dock->titleBarWidget());
}

QScrollArea* scrolled(QWidget* content, QWidget* parent) {
  auto* area = new QScrollArea(parent);
  area->setWidget(content);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  return area;
}

}  // namespace

WindowDocks::WindowDocks(QMainWindow* window, const analysis::LiveStore* store,
                         views::TimeAxis* axis, views::EventFocus* focus)
    : QObject(window),
      window_(window),
      store_(store),
      axis_(axis),
      focus_(focus),
      steps_(store),
      now_(store),
      wholeRun_(store),
      wholeRunOps_(store) {
  window_->setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
  window_->setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  makeLeft();
  makeRight();
  makeBottom();
  refresh();
  connect(focus_, &views::EventFocus::changed, this, &WindowDocks::markPicked);
  // A drag changes the selection with each move of the mouse; the numbers may lag a little.
  selectionTimer_.setSingleShot(true);
  selectionTimer_.setInterval(kLazyMs);
  connect(&selectionTimer_, &QTimer::timeout, this, &WindowDocks::refresh);
  connect(axis_, &views::TimeAxis::selectionChanged, this, [this] {
    if (!selectionTimer_.isActive()) {
      selectionTimer_.start();
    }
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
  controlsDock_->setWidget(scrolled(controls_, controlsDock_));
  nowDock_ = makeDock(tr("Now"), "nowDock", Qt::LeftDockWidgetArea);
  auto* now = new views::KeyValueView(&now_);
  now->setObjectName(QStringLiteral("nowView"));
  now->setAccessibleName(tr("Current numbers"));
  nowDock_->setWidget(now);
}

void WindowDocks::makeRight() {
  selectionDock_ = makeDock(tr("Selection"), "selectionDock", Qt::RightDockWidgetArea);
  selection_ = new views::SelectionPanel;
  auto* both = new QWidget;
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(new views::EventPanel(store_, focus_, both));
  column->addWidget(selection_, 1);
  selectionDock_->setWidget(scrolled(both, selectionDock_));
  clearSelection_ = new QToolButton(selectionDock_);
  clearSelection_->setObjectName(QStringLiteral("clearSelectionButton"));
  clearSelection_->setText(tr("Clear"));
  clearSelection_->setToolTip(tr("Clear the selection (Esc)"));
  clearSelection_->setProperty("kind", "link");
  clearSelection_->hide();
  titleOf(selectionDock_)->addWidget(clearSelection_);
  connect(clearSelection_, &QToolButton::clicked, this, [this] {
    axis_->clearSelection();
    focus_->clear();
  });

  findingsDock_ = makeDock(tr("Findings"), "findingsDock", Qt::RightDockWidgetArea);
  findings_ = new FindingsDock(findingsDock_, titleOf(findingsDock_), store_, axis_, focus_);
  connect(findings_, &FindingsDock::acceptRequested, this, &WindowDocks::acceptRequested);
  connect(findings_, &FindingsDock::withdrawRequested, this, &WindowDocks::withdrawRequested);
}

EventTable* WindowDocks::makeOpTable(OpTotalsModel* model, Lane lane, const char* name) {
  auto* table = new EventTable;
  table->setObjectName(QLatin1String(name));
  table->setModel(model);
  table->setOpLook(
      lane == Lane::kFallbacks ? EventTable::Kind::kFallbacks : EventTable::Kind::kSyncPoints,
      OpTotalsModel::kOp, OpTotalsModel::kShare);
  table->setColumnWidths({152, 60, 80, 116, 84});
  table->sortByColumn(OpTotalsModel::kTotalMs, Qt::DescendingOrder);
  connect(table, &EventTable::rowPicked, this, [this, model, lane](int row) {
    const QModelIndex op = model->index(row, OpTotalsModel::kOp);
    focus_->pickOp({lane, op.data(OpTotalsModel::kOpNameRole).toString(),
                    model->index(row, OpTotalsModel::kWhere).data().toString()});
  });
  return table;
}

void WindowDocks::makeStepTable() {
  stepTable_ = new EventTable;
  stepTable_->setObjectName(QStringLiteral("stepTable"));
  stepTable_->setAccessibleName(tr("Steps"));
  stepTable_->setModel(&steps_);
  stepTable_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);  // all are numbers
  stepTable_->setNaturalOrder(StepModel::kStep, Qt::DescendingOrder);
  stepTable_->setEmptyText(tr("Each finished step appears here, the newest first"));
  connect(stepTable_, &EventTable::rowPicked, this, [this](int row) {
    const views::EventRef step{Lane::kSteps, static_cast<std::uint32_t>(steps_.recordOf(row))};
    axis_->reveal(views::timeRangeOf(*store_, step));
    focus_->pick(step);
  });
}

void WindowDocks::makeOpsTable() {
  opsTable_ = new EventTable;
  opsTable_->setObjectName(QStringLiteral("opsTable"));
  opsTable_->setAccessibleName(tr("Ops"));
  opsTable_->setModel(&ops_);
  opsTable_->setOpLook(EventTable::Kind::kOps, OpTimesModel::kName, OpTimesModel::kShare);
  opsTable_->setColumnWidths({144, 54, 62, 78, 76, 108, 80});
  opsTable_->sortByColumn(OpTimesModel::kSelfMs, Qt::DescendingOrder);
  connect(opsTable_, &EventTable::rowPicked, this, [this](int row) {
    const QString op = ops_.index(row, 0).data(OpTotalsModel::kOpNameRole).toString();
    if (!op.isEmpty()) {
      focus_->pickOp({Lane::kOps, op, {}});
    }
  });
  opFilter_ = new QLineEdit(eventsDock_);
  opFilter_->setObjectName(QStringLiteral("opFilter"));
  opFilter_->setPlaceholderText(tr("Filter by op or module"));
  opFilter_->setToolTip(tr("Shows the ops and modules with this in their name (Ctrl+F)"));
  opFilter_->setAccessibleName(tr("Filter of the ops"));
  opFilter_->setClearButtonEnabled(true);
  opFilter_->setFixedSize(168, 22);
  opFilter_->hide();
  opFilter_->installEventFilter(this);
  titleOf(eventsDock_)->addWidget(opFilter_);
  connect(opFilter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    opsTable_->setFilter(text.trimmed());
    markPicked();
  });
  opGrouping_ = new QToolButton(eventsDock_);
  opGrouping_->setObjectName(QStringLiteral("opGroupingButton"));
  opGrouping_->setText(tr("By module"));
  opGrouping_->setToolTip(tr("Sum up by op, or by the module that the ops ran in"));
  opGrouping_->setProperty("kind", "link");
  opGrouping_->hide();
  titleOf(eventsDock_)->addWidget(opGrouping_);
  connect(opGrouping_, &QToolButton::clicked, this, [this] {
    const bool byOp = ops_.grouping() == OpTimesModel::Grouping::kByOp;
    ops_.setGrouping(byOp ? OpTimesModel::Grouping::kByModule : OpTimesModel::Grouping::kByOp);
    opGrouping_->setText(byOp ? tr("By op") : tr("By module"));
  });
}

void WindowDocks::filterOps() {
  eventsDock_->show();
  tabs_->setCurrentIndex(pages_->indexOf(opsTable_));
  opFilter_->setFocus(Qt::ShortcutFocusReason);
  opFilter_->selectAll();
}

/// Esc leaves the field, with all ops shown again; elsewhere it is the timeline's.
bool WindowDocks::eventFilter(QObject* watched, QEvent* event) {
  if (watched == opFilter_ && event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    opFilter_->clear();
    opsTable_->setFocus();
    return true;
  }
  return QObject::eventFilter(watched, event);
}

void WindowDocks::offerAcceptance(const QPoint& position) {
  const QModelIndex row = fallbackTable_->indexAt(position).siblingAtColumn(OpTotalsModel::kOp);
  if (!row.isValid()) {
    return;
  }
  const QString op = row.data(OpTotalsModel::kOpNameRole).toString();
  QMenu menu(fallbackTable_);
  if (row.data(OpTotalsModel::kAcceptedRole).toBool()) {
    menu.addAction(tr("Withdraw the acceptance of the CPU path"), this,
                   [this, op] { emit withdrawRequested(op); });
  } else {
    menu.addAction(tr("Accept the CPU path…"), this, [this, op] { emit acceptRequested(op); });
  }
  menu.exec(fallbackTable_->viewport()->mapToGlobal(position));
}

void WindowDocks::makeBottom() {
  eventsDock_ =
      makeDock(tr("Fallbacks, ops, steps and log"), "eventsDock", Qt::BottomDockWidgetArea);
  tabs_ = titleOf(eventsDock_)->useTabs();
  tabs_->setObjectName(QStringLiteral("eventTabs"));
  pages_ = new QStackedWidget(eventsDock_);
  eventsDock_->setWidget(pages_);
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  connect(pages_, &QStackedWidget::currentChanged, this, [this] {
    const bool ops = pages_->currentWidget() == opsTable_;
    opGrouping_->setVisible(ops);
    opFilter_->setVisible(ops);
  });

  fallbackTable_ = makeOpTable(&fallbacks_, Lane::kFallbacks, "fallbackTable");
  fallbackTable_->setAccessibleName(tr("Fallbacks"));
  fallbackTable_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(fallbackTable_, &QWidget::customContextMenuRequested, this,
          &WindowDocks::offerAcceptance);
  makeOpsTable();
  makeStepTable();
  logView_ = new QListView;
  logView_->setObjectName(QStringLiteral("logView"));
  logView_->setAccessibleName(tr("Log"));
  logView_->setModel(&log_);
  logView_->setUniformItemSizes(true);
  logView_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  // Whoever reads further up is left there.
  connect(&log_, &QAbstractItemModel::rowsAboutToBeInserted, this, [this] {
    const QScrollBar* bar = logView_->verticalScrollBar();
    if (bar->value() == bar->maximum() && !logTimer_.isActive()) {
      logTimer_.start();
    }
  });
  logTimer_.setSingleShot(true);
  logTimer_.setInterval(kLazyMs);
  connect(&logTimer_, &QTimer::timeout, logView_, &QListView::scrollToBottom);
  addPage(fallbackTable_, tr("Fallbacks"));
  addPage(opsTable_, tr("Ops"));
  addPage(stepTable_, tr("Steps"));
  addPage(logView_, tr("Log"));

  syncDock_ = makeDock(tr("Sync points"), "syncDock", Qt::BottomDockWidgetArea);
  syncTable_ = makeOpTable(&syncPoints_, Lane::kSyncPoints, "syncTable");
  syncTable_->setAccessibleName(tr("Sync points"));
  syncDock_->setWidget(syncTable_);
  window_->splitDockWidget(eventsDock_, syncDock_, Qt::Horizontal);
}

void WindowDocks::addPage(QWidget* page, const QString& title, int index) {
  const QSignalBlocker quiet(tabs_);
  index = index < 0 ? tabs_->count() : index;
  tabs_->insertTab(index, title);
  pages_->insertWidget(index, page);
  pages_->setCurrentIndex(tabs_->currentIndex());
}

void WindowDocks::setSmall(bool small) {
  const int left = small ? 236 : 256, right = small ? 288 : 328;
  const int bottom = small ? 150 : std::clamp(window_->height() / 6, 174, 300);
  now_.setShort(small);
  if (small != small_) {
    small_ = small;
    const int current = tabs_->currentIndex();
    if (small) {
      addPage(syncTable_, tr("Sync points"), 1);
    } else {
      const QSignalBlocker quiet(tabs_);
      tabs_->removeTab(pages_->indexOf(syncTable_));
      syncDock_->setWidget(syncTable_);
      syncTable_->show();
    }
    tabs_->setCurrentIndex(current > 0 ? current + (small ? 1 : -1) : 0);
    pages_->setCurrentIndex(tabs_->currentIndex());
    syncDock_->setVisible(!small);
    refresh();
  }
  window_->resizeDocks({controlsDock_, nowDock_}, {left, left}, Qt::Horizontal);
  window_->resizeDocks({selectionDock_, findingsDock_}, {right, right}, Qt::Horizontal);
  // The numbers as high as they are, the findings all the rest.
  const int tall = window_->height() - 120;
  const int numbers = std::min(kDockTitle + (small ? kLeastNumbers : kNumbers), tall / 2 + 40);
  window_->resizeDocks({selectionDock_, findingsDock_}, {numbers, tall - numbers}, Qt::Vertical);
  window_->resizeDocks({eventsDock_}, {bottom}, Qt::Vertical);
  const int nowHeight = kDockTitle + now_.rowCount() * 22 + 14;
  window_->resizeDocks({controlsDock_, nowDock_}, {2000, nowHeight}, Qt::Vertical);
  if (!small) {
    window_->resizeDocks({eventsDock_, syncDock_}, {1120, 880}, Qt::Horizontal);
  }
}

void WindowDocks::showFilledPage() {
  const auto* shown = qobject_cast<QAbstractItemView*>(pages_->currentWidget());
  if (shown && shown->model()->rowCount() > 0) {
    return;
  }
  QList<EventTable*> tables{fallbackTable_, opsTable_, stepTable_};
  if (small_) {
    tables.insert(1, syncTable_);
  }
  for (EventTable* table : tables) {
    if (table->model()->rowCount() > 0) {
      tabs_->setCurrentIndex(pages_->indexOf(table));
      return;
    }
  }
}

void WindowDocks::startOver() {
  wholeRun_.reset();
  wholeRunOps_.reset();
  summaryOf_.reset();
  opsOf_.reset();
  refresh();
  findings_->judgeNow();
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
    summary_ = analysis::summarize(*store_, selection);
    // Everything in a range that lies before this has arrived: it will not change again.
    const bool complete = selection->endNs <= store_->completeUpToNs();
    summaryOf_ = complete ? selection : std::nullopt;
  }
  return summary_;
}

/// As with the summary: a range that is complete is counted once.
void WindowDocks::refreshOps() {
  const auto& selection = axis_->selection();
  if (!selection) {
    ops_.refresh(wholeRunOps_.update());
    opsOf_.reset();
    return;
  }
  const bool same =
      opsOf_ && opsOf_->beginNs == selection->beginNs && opsOf_->endNs == selection->endNs;
  if (!same) {
    ops_.refresh(analysis::opTimesIn(*store_, *selection));
    opsOf_ = selection->endNs <= store_->completeUpToNs() ? selection : std::nullopt;
  }
}

void WindowDocks::refresh() {
  selectionTimer_.stop();
  const auto& selection = axis_->selection();
  const analysis::RunSummary& summary = this->summary();
  const bool cpu = !store_->hasMemoryCounters();
  fallbackTable_->setEmptyText(cpu ? tr("On the CPU no op falls back")
                                   : tr("No op has run on the CPU for want of a device kernel"));
  syncTable_->setEmptyText(cpu ? tr("On the CPU there is no device to wait for")
                               : tr("The host has not waited for the device yet"));
  fallbacks_.refresh(summary.fallbacks, summary.stepsMs);
  syncPoints_.refresh(summary.syncPoints, summary.stepsMs);
  std::set<std::string> accepted;
  for (const analysis::OpTotal& total : summary.fallbacks) {
    if (store_->acceptanceOf(total.op)) {
      accepted.insert(total.op);
    }
  }
  fallbacks_.setAccepted(std::move(accepted));
  refreshOps();
  findings_->refresh();
  steps_.refresh();
  now_.refresh();
  log_.refresh(*store_);
  const views::TimeRange extent = axis_->extent();
  selection_->showSummary(
      summary, selection ? selection->endNs - selection->beginNs : extent.endNs - extent.beginNs,
      selection.has_value());
  refreshTitles(summary.fallbacks.size(), summary.syncPoints.size());
  markPicked();
}

void WindowDocks::refreshTitles(std::size_t fallbacks, std::size_t syncs) {
  refreshSelectionTitle();
  const auto& steps = store_->steps().records;
  titleOf(nowDock_)->setSubtitle(steps.empty() ? QString()
                                               : tr("step %1").arg(steps.back().step()));
  const auto counted = [](const QString& name, std::size_t count) {
    return count > 0 ? QStringLiteral("%1  %2").arg(name).arg(count) : name;
  };
  tabs_->setTabText(pages_->indexOf(fallbackTable_), counted(tr("Fallbacks"), fallbacks));
  const QString forgotten = tr("Older ops are kept in the recording only: they are not counted");
  tabs_->setTabText(pages_->indexOf(opsTable_), ops_.partial() ? tr("Newest ops") : tr("Ops"));
  tabs_->setTabToolTip(pages_->indexOf(opsTable_), ops_.partial() ? forgotten : QString());
  opsTable_->setEmptyText(
      ops_.partial() ? forgotten
                     : tr("No op was recorded here. To see what each costs, record every op: "
                          "Ctrl+L while a run trains, Level before it"));
  if (small_) {
    tabs_->setTabText(pages_->indexOf(syncTable_), counted(tr("Sync points"), syncs));
  }
  titleOf(syncDock_)->setSubtitle(
      syncs > 0 ? (syncs == 1 ? tr("1 place") : tr("%1 places").arg(syncs)) : QString());
}

/// Names what the dock shows at its top: the picked event, else the range, else all.
void WindowDocks::refreshSelectionTitle() {
  const auto& picked = focus_->picked();
  const auto& range = axis_->selection();
  QString title = tr("whole run");
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
  titleOf(selectionDock_)->setSubtitle(title);
  clearSelection_->setVisible(picked || range);
}

void WindowDocks::markPicked() {
  refreshSelectionTitle();
  const auto& op = focus_->op();
  const auto mark = [&op](EventTable* table, const OpTotalsModel& model, Lane lane) {
    table->markRow(op && op->lane == lane ? model.rowOf(op->op, op->where) : -1);
  };
  mark(fallbackTable_, fallbacks_, Lane::kFallbacks);
  mark(syncTable_, syncPoints_, Lane::kSyncPoints);
  opsTable_->markRow(op && op->lane == Lane::kOps ? ops_.rowOf(op->op) : -1);
  const auto& event = focus_->picked();
  stepTable_->markRow(event && event->lane == Lane::kSteps ? steps_.rowOf(event->index) : -1);
}

void WindowDocks::addTo(QMenu* menu) const {
  for (QDockWidget* dock :
       {controlsDock_, nowDock_, selectionDock_, findingsDock_, eventsDock_, syncDock_}) {
    menu->addAction(dock->toggleViewAction());
  }
}

}  // namespace highwater::app

#include "window/bottom_tables.h"

#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <set>
#include <utility>

#include "analysis/account/host_time.h"
#include "analysis/whole_steps.h"
#include "report/issue_report.h"
#include "views/key_text.h"
#include "views/panels/copy_actions.h"
#include "views/panels/dock_title.h"
#include "views/panels/event_table.h"
#include "views/panels/link_button.h"
#include "views/panels/search_table.h"
#include "window/turn_limit.h"

namespace highwater::window {

using models::HostTimeModel;
using models::OpTimesModel;
using models::OpTotalsModel;
using models::StepModel;
using views::DockTitle;
using views::EventTable;
using views::Lane;

namespace {

constexpr int kLogMs = 60;  ///< lines that arrive together scroll the log once
constexpr int kFoot = 24, kCopiedMs = 1500;

/// Has a link say for a moment that it has copied.
void sayCopied(QToolButton* link) {
  const QString text = link->property("text0").toString();
  link->setText(BottomTables::tr("Copied"));
  QTimer::singleShot(kCopiedMs, link, [link, text] { link->setText(text); });
}

QToolButton* copyLink(const QString& text, const char* name, QWidget* parent) {
  QToolButton* link = views::linkButton(text, name, parent);
  link->setProperty("text0", text);
  link->setFixedWidth(link->sizeHint().width());  // "Copied" is shorter
  return link;
}

}  // namespace

BottomTables::BottomTables(QDockWidget* tabsDock, QDockWidget* syncDock,
                           const analysis::LiveStore* store, views::TimeAxis* axis,
                           views::EventFocus* focus)
    : QObject(tabsDock),
      store_(store),
      axis_(axis),
      focus_(focus),
      steps_(store),
      hostTime_(store),
      wholeRunOps_(store),
      tabsDock_(tabsDock),
      syncDock_(syncDock),
      tabsTitle_(DockTitle::of(tabsDock)),
      syncTitle_(DockTitle::of(syncDock)) {
  tabs_ = tabsTitle_->useTabs();
  tabs_->setObjectName(QStringLiteral("eventTabs"));
  connect(tabs_, &QTabBar::tabBarClicked, this, [this] { userChose_ = true; });
  pages_ = new QStackedWidget(tabsDock_);
  tabsDock_->setWidget(pages_);
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  connect(tabs_, &QTabBar::tabBarClicked, this, [this] { worst_.reset(); });
  connect(pages_, &QStackedWidget::currentChanged, this, [this] {
    const bool ops = pages_->currentWidget() == opsTable_;
    opGrouping_->setVisible(ops);
    opFilter_->setVisible(ops);
    csvLink_->setVisible(currentTable() != nullptr);
    countHostTime();
  });
  fallbackTable_ = makeOpTable(&fallbacks_, Lane::kFallbacks, "fallbackTable", tr("Fallbacks"));
  fallbackTable_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(fallbackTable_, &QWidget::customContextMenuRequested, this,
          &BottomTables::offerAcceptance);
  makeOpsTable();
  makeOpTools();
  makeStepTable();
  makeCompareTable();
  makeHostTimeTable();
  makeLog();
  makeFallbackPage();
  addCsvLink(tabsTitle_, "copyCsvButton");
  addCsvLink(syncTitle_, "copySyncCsvButton");
  addPage(opsTable_, tr("Ops"));
  addPage(stepTable_, tr("Steps"));
  addPage(logView_, tr("Log"));
  tabs_->setCurrentIndex(pages_->indexOf(stepTable_));
  syncTable_ = makeOpTable(&syncPoints_, Lane::kSyncPoints, "syncTable", tr("Sync points"));
  syncDock_->setWidget(syncTable_);
  connect(focus_, &views::EventFocus::changed, this, [this] {
    markPicked();
    showPickedTable();
  });
}

EventTable* BottomTables::makeOpTable(OpTotalsModel* model, Lane lane, const char* name,
                                      const QString& accessibleName) {
  auto* table = new EventTable;
  table->setObjectName(QLatin1String(name));
  table->setAccessibleName(accessibleName);
  table->setModel(model);
  table->setOpLook(
      lane == Lane::kFallbacks ? EventTable::Kind::kFallbacks : EventTable::Kind::kSyncPoints,
      OpTotalsModel::kOp, OpTotalsModel::kShare);
  table->setColumnWidths({124, 206, 54, 68, 92});
  table->setLinks(OpTotalsModel::kWhere, [this](const QModelIndex& cell) {
    // Only the place of a script's event begins with its line.
    return store_->ownScript() && focus_->hasSource(cell.data(OpTotalsModel::kSiteRole).toUInt());
  });
  connect(table, &EventTable::linkClicked, this, [this](const QModelIndex& cell) {
    focus_->openSource(cell.data(OpTotalsModel::kSiteRole).toUInt());
  });
  table->sortByColumn(OpTotalsModel::kTotalMs, Qt::DescendingOrder);
  connect(table, &EventTable::rowPicked, this, [this, model, lane](int row) {
    const QModelIndex op = model->index(row, OpTotalsModel::kOp);
    views::OpRef wanted{lane, op.data(OpTotalsModel::kOpNameRole).toString(),
                        model->index(row, OpTotalsModel::kWhere).data().toString(),
                        static_cast<events::SyncKind>(op.data(OpTotalsModel::kKindRole).toInt())};
    if (lane == Lane::kSyncPoints) {
      wanted.planned = op.data(OpTotalsModel::kDeliberateRole).toBool();
    }
    focus_->goTo(wanted, shownRange());
  });
  return table;
}

void BottomTables::makeFallbackPage() {
  fallbackPage_ = new QWidget(tabsDock_);
  fallbackPage_->hide();
  auto* column = new QVBoxLayout(fallbackPage_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(fallbackTable_);
  fallbackFoot_ = new QWidget(fallbackPage_);
  fallbackFoot_->setObjectName(QStringLiteral("fallbackFoot"));
  fallbackFoot_->setFixedHeight(kFoot);
  auto* row = new QHBoxLayout(fallbackFoot_);
  row->setContentsMargins(12, 0, 8, 0);
  issueOp_ = new QLabel(fallbackFoot_);
  issueOp_->setTextFormat(Qt::PlainText);
  issueOp_->setProperty("kind", "quiet");
  issueOp_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  issueLink_ = copyLink(tr("Copy issue report"), "copyIssueButton", fallbackFoot_);
  issueLink_->setToolTip(
      tr("Copy op, shapes, dtype and versions as Markdown, for an issue at PyTorch"));
  row->addWidget(issueOp_, 1);
  row->addWidget(issueLink_);
  column->addWidget(fallbackFoot_);
  connect(issueLink_, &QToolButton::clicked, this, &BottomTables::copyIssueReport);
  connect(fallbackTable_, &EventTable::rowPicked, this, &BottomTables::refreshIssueLink);
}

void BottomTables::addCsvLink(DockTitle* title, const char* name) {
  QToolButton* link = copyLink(tr("Copy as CSV"), name, title);
  link->setToolTip(tr("Copy the table as CSV, in the order shown"));
  title->addWidget(link);
  const bool tabs = title == tabsTitle_;
  if (tabs) csvLink_ = link;
  connect(link, &QToolButton::clicked, this, [this, link, tabs] {
    if (const EventTable* table = tabs ? currentTable() : syncTable_) {
      views::copyAsCsv(*table);
      sayCopied(link);
    }
  });
}

int BottomTables::pageOf(QWidget* view) const {
  return pages_->indexOf(view == fallbackTable_ ? fallbackPage_ : view);
}

EventTable* BottomTables::currentTable() const {
  QWidget* page = pages_->currentWidget();
  return page == fallbackPage_ ? fallbackTable_ : qobject_cast<EventTable*>(page);
}

QString BottomTables::opToReport() const {
  const QModelIndex current = fallbackTable_->currentIndex();
  const QModelIndex row = current.isValid() ? current : fallbackTable_->model()->index(0, 0);
  return row.data(OpTotalsModel::kOpNameRole).toString();
}

void BottomTables::refreshIssueLink() {
  const QString op = opToReport();
  fallbackFoot_->setVisible(!op.isEmpty() && !small_);
  issueOp_->setText(tr("For PyTorch's issues: %1").arg(op));
}

void BottomTables::copyIssueReport() {
  const std::string issue = report::fallbackIssue(
      *store_, opToReport().toStdString(), QCoreApplication::applicationVersion().toStdString());
  if (issue.empty()) return;
  QApplication::clipboard()->setText(QString::fromStdString(issue));
  sayCopied(issueLink_);
}

void BottomTables::makeStepTable() {
  stepTable_ = new EventTable;
  stepTable_->setObjectName(QStringLiteral("stepTable"));
  stepTable_->setAccessibleName(tr("Steps"));
  stepTable_->setModel(&steps_);
  stepTable_->setEvenColumns();
  stepTable_->setNaturalOrder(StepModel::kStep, Qt::DescendingOrder);
  connect(stepTable_, &EventTable::rowPicked, this, [this](int row) {
    const views::EventRef step{Lane::kSteps, static_cast<std::uint32_t>(steps_.recordOf(row))};
    focus_->goTo(step);
  });
}

void BottomTables::makeOpsTable() {
  opsTable_ = new EventTable;
  opsTable_->setObjectName(QStringLiteral("opsTable"));
  opsTable_->setAccessibleName(tr("Ops"));
  opsTable_->setModel(&ops_);
  opsTable_->setOpLook(EventTable::Kind::kOps, OpTimesModel::kName, OpTimesModel::kShare);
  opsTable_->setColumnWidths({144, 54, 62, 78, 76, 108, 80});
  opsTable_->sortByColumn(OpTimesModel::kSelfMs, Qt::DescendingOrder);
  connect(opsTable_, &EventTable::rowPicked, this, [this](int row) {
    // A row of a module has no op.
    const QModelIndex name = ops_.index(row, OpTimesModel::kName);
    const QString op = name.data(OpTotalsModel::kOpNameRole).toString();
    const QString module = name.data(OpTimesModel::kModuleRole).toString();
    focus_->goTo({Lane::kOps, op, op.isEmpty() ? module : QString()}, shownRange());
  });
}

void BottomTables::makeHostTimeTable() {
  hostTimeTable_ = new EventTable(tabsDock_);
  hostTimeTable_->setObjectName(QStringLiteral("hostTimeTable"));
  hostTimeTable_->setAccessibleName(tr("Host time by line"));
  hostTimeTable_->setModel(&hostTime_);
  hostTimeTable_->setOpLook(EventTable::Kind::kHostTime, HostTimeModel::kActivity,
                            HostTimeModel::kShare);
  hostTimeTable_->setColumnWidths({96, 230, 130, 78, 108, 60});
  hostTimeTable_->sortByColumn(HostTimeModel::kMs, Qt::DescendingOrder);
  hostTimeTable_->setEmptyText(tr("There is no finished step"));
  const auto site = [](const QModelIndex& cell) {
    return cell.data(HostTimeModel::kSiteRole).toUInt();
  };
  hostTimeTable_->setLinks(HostTimeModel::kLine, [this, site](const QModelIndex& cell) {
    return focus_->hasSource(site(cell));
  });
  connect(hostTimeTable_, &EventTable::linkClicked, this,
          [this, site](const QModelIndex& cell) { focus_->openSource(site(cell)); });
  hostTimeTable_->hide();
}

void BottomTables::makeCompareTable() {
  compareTable_ = new EventTable(tabsDock_);
  compareTable_->setObjectName(QStringLiteral("compareTable"));
  compareTable_->setAccessibleName(tr("Waits and fallbacks of A and B"));
  compareTable_->setModel(&compare_);
  compareTable_->setOpLook(EventTable::Kind::kCompared, models::CompareModel::kOp,
                           models::CompareModel::kNoise);
  compareTable_->setColumnWidths({170, 200, 64, 64, 72});
  compareTable_->sortByColumn(models::CompareModel::kChange, Qt::DescendingOrder);
  compareTable_->setEmptyText(tr("Neither range has waits or fallbacks"));
  compareTable_->hide();
  connect(compareTable_, &EventTable::rowPicked, this, [this](int row) {
    const QModelIndex op = compare_.index(row, models::CompareModel::kOp);
    const auto kind = static_cast<events::SyncKind>(op.data(OpTotalsModel::kKindRole).toInt());
    const auto inMs = [&](int column) {
      return compare_.index(row, column).data(OpTotalsModel::kSortRole).toDouble();
    };
    // To the range in which the op costs more.
    const bool inB = inMs(models::CompareModel::kB) >= inMs(models::CompareModel::kA);
    const auto& range = axis_->pinned(inB ? views::Pin::kB : views::Pin::kA);
    if (range) {
      focus_->goTo({kind == events::SyncKind::None ? Lane::kFallbacks : Lane::kSyncPoints,
                    op.data(OpTotalsModel::kOpNameRole).toString(),
                    compare_.index(row, models::CompareModel::kWhere).data().toString(), kind},
                   *range);
    }
  });
}

void BottomTables::showComparison(const analysis::Comparison* comparison) {
  const int page = pages_->indexOf(compareTable_);
  compare_.refresh(comparison ? comparison->ops : std::vector<analysis::ComparedOp>());
  if (comparison && page < 0) {
    addPage(compareTable_, tr("Waits and fallbacks, A with B"));
    bringToFront(compareTable_);
  } else if (!comparison) {
    showExtraPage(compareTable_, {}, false);
  }
  markPicked();
}

views::TimeRange BottomTables::shownRange() const {
  return axis_->selection().value_or(
      views::TimeRange{axis_->extent().beginNs, axis_->extent().endNs + 1});
}

void BottomTables::makeOpTools() {
  opFilter_ = new QLineEdit(tabsDock_);
  opFilter_->setObjectName(QStringLiteral("opFilter"));
  opFilter_->setPlaceholderText(tr("Filter by op or module"));
  opFilter_->setToolTip(tr("Shows only ops and modules whose name contains this text (%1)")
                            .arg(views::keyText(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_F))));
  opFilter_->setAccessibleName(tr("Filter of the ops"));
  opFilter_->setClearButtonEnabled(true);
  opFilter_->setFixedSize(168, 22);
  opFilter_->hide();
  opFilter_->installEventFilter(this);
  tabsTitle_->addWidget(opFilter_);
  connect(opFilter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    opsTable_->setFilter(text.trimmed());
    markPicked();
  });
  opGrouping_ = views::linkButton(tr("By module"), "opGroupingButton", tabsDock_);
  opGrouping_->setToolTip(tr("Add up by op, or by the module that the ops ran in"));
  opGrouping_->hide();
  tabsTitle_->addWidget(opGrouping_);
  connect(opGrouping_, &QToolButton::clicked, this, [this] {
    const bool byOp = ops_.grouping() == OpTimesModel::Grouping::kByOp;
    ops_.setGrouping(byOp ? OpTimesModel::Grouping::kByModule : OpTimesModel::Grouping::kByOp);
    opGrouping_->setText(byOp ? tr("By op") : tr("By module"));
  });
}

void BottomTables::makeLog() {
  logView_ = new QListView;
  logView_->setObjectName(QStringLiteral("logView"));
  logView_->setAccessibleName(tr("Log"));
  logView_->setModel(&log_);
  logView_->setUniformItemSizes(true);
  logView_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  views::addCopyActions(logView_);
  // Follows the newest line, unless the user has scrolled up to read.
  logView_->installEventFilter(this);
  connect(logView_->verticalScrollBar(), &QScrollBar::valueChanged, this,
          [this](int value) { logFollows_ = value >= logView_->verticalScrollBar()->maximum(); });
  connect(&log_, &QAbstractItemModel::modelReset, this, [this] { logFollows_ = true; });
  connect(&log_, &QAbstractItemModel::rowsInserted, this, [this] {
    if (logFollows_ && !logTimer_.isActive()) {
      logTimer_.start();
    }
  });
  opsTimer_.setSingleShot(true);
  opsTimer_.setInterval(0);
  connect(&opsTimer_, &QTimer::timeout, this, [this] {
    refreshOps();
    if (!isCounting_) markPicked();
  });
  logTimer_.setSingleShot(true);
  logTimer_.setInterval(kLogMs);
  connect(&logTimer_, &QTimer::timeout, logView_, &QListView::scrollToBottom);
}

void BottomTables::addPage(QWidget* page, const QString& title, int index) {
  const QSignalBlocker quiet(tabs_);
  index = index < 0 ? tabs_->count() : index;
  tabs_->insertTab(index, title);
  pages_->insertWidget(index, page);
  pages_->setCurrentIndex(tabs_->currentIndex());
}

void BottomTables::addSearch(models::SearchModel* search) {
  search_ = search;
  searchTable_ = views::makeSearchTable(search_, tabsDock_);
  searchTable_->hide();
  connect(searchTable_, &EventTable::rowPicked, this, &BottomTables::matchPicked);
  connect(search_, &models::SearchModel::changed, this, &BottomTables::refreshSearchTitle);
  connect(search_, &models::SearchModel::currentChanged, this, &BottomTables::markHit);
  connect(search_, &models::SearchModel::changed, this, &BottomTables::markHit);
}

void BottomTables::showSearch(bool shown) {
  const int index = pages_->indexOf(searchTable_);
  if (shown && index < 0) {
    pageBeforeSearch_ = pages_->currentWidget();
    addPage(searchTable_, tr("Search"));
    tabs_->setCurrentIndex(tabs_->count() - 1);
    refreshSearchTitle();
  } else if (!shown && index >= 0) {
    const bool current = pages_->currentIndex() == index;
    showExtraPage(searchTable_, {}, false);
    const int before = pages_->indexOf(pageBeforeSearch_);
    if (current) tabs_->setCurrentIndex(std::max(before, 0));
  }
}

void BottomTables::showExtraPage(QWidget* page, const QString& title, bool shown, int index) {
  const int before = pages_->indexOf(page);
  if (shown && before < 0) {
    addPage(page, title, index);
  } else if (!shown && before >= 0) {
    QWidget* now = pages_->currentWidget();
    if (now == page) now = page == fallbackPage_ ? stepTable_ : pages_->widget(before == 0 ? 1 : 0);
    {
      const QSignalBlocker quiet(tabs_);  // until tabs and pages have the same places again
      tabs_->removeTab(before);
      pages_->removeWidget(page);
      tabs_->setCurrentIndex(pages_->indexOf(now));
    }
    page->hide();
    pages_->setCurrentWidget(now);
  }
}

void BottomTables::showFallbacks(bool any) {
  const bool appear = any && pages_->indexOf(fallbackPage_) < 0;
  const QWidget* current = pages_->currentWidget();
  showExtraPage(fallbackPage_, tr("Fallbacks"), any, 0);
  const bool reads = current != opsTable_ && current != stepTable_;
  if (appear && !userChose_ && !reads) tabs_->setCurrentIndex(0);
}

void BottomTables::refreshHostTime() {
  showExtraPage(hostTimeTable_, tr("Host time"), !store_->hostSamples().empty(),
                pages_->indexOf(opsTable_) + 1);
  countHostTime();
}

void BottomTables::countHostTime() {
  constexpr int kLeastRestMs = 1000, kRestTimes = 20;
  constexpr std::size_t kNewest = 1000;
  if (pages_->currentWidget() != hostTimeTable_) return;
  const bool ended = store_->end().has_value();
  const auto range = axis_->selection();
  // As the other tables and the findings: of whole steps, where there are any.
  const std::size_t all = store_->steps().records.size();
  const std::size_t first = ended || all < kNewest ? 0 : all - kNewest;
  const analysis::StepRows steps =
      range ? analysis::wholeStepsIn(*store_, *range) : analysis::StepRows{first, all};
  const auto counted = steps.empty() ? range : analysis::firstToLast(steps.in(*store_));
  const std::int64_t upToNs = store_->completeUpToNs();
  const bool sameRange = range == hostTimeOf_;
  if (sameRange && (hostTimeUpToNs_ == upToNs || (!ended && !hostTimeAgain_.hasExpired()))) return;
  QElapsedTimer counting;
  counting.start();
  hostTime_.refresh(
      counted ? analysis::hostTime(*store_, counted) : std::vector<analysis::HostTimeRow>(),
      steps.size());
  hostTimeOf_ = range;
  hostTimeUpToNs_ = upToNs;
  hostTimeAgain_.setRemainingTime(std::max<qint64>(kLeastRestMs, kRestTimes * counting.elapsed()));
}

void BottomTables::bringToFront(QWidget* page) {
  tabs_->setCurrentIndex(pages_->indexOf(page));
  tabsDock_->show();
}

void BottomTables::showLogLine(int row) {
  tabs_->setCurrentIndex(pages_->indexOf(logView_));
  const QModelIndex line = log_.index(row);
  logView_->setCurrentIndex(line);
  logView_->scrollTo(line);
}

void BottomTables::refreshSearchTitle() {
  const int index = pages_->indexOf(searchTable_);
  if (index < 0) return;
  const std::uint64_t hits = search_->rowHits();
  tabs_->setTabText(index, hits == 0   ? tr("Search")
                           : hits == 1 ? tr("Search  1 hit")
                                       : tr("Search  %1 hits").arg(hits));
  searchTable_->setEmptyText(search_->text().isEmpty()
                                 ? tr("Type what to search for: part of the name of an op, module, "
                                      "marker or call site, or "
                                      "of a line of the log")
                                 : tr("Nothing contains \u201c%1\u201d").arg(search_->text()));
}

void BottomTables::markHit() {
  const int row = search_->currentRow();
  if (row >= 0) searchTable_->markRow(row);
}

void BottomTables::filterOps() {
  tabsDock_->show();
  tabs_->setCurrentIndex(pages_->indexOf(opsTable_));
  opFilter_->setFocus(Qt::ShortcutFocusReason);
  opFilter_->selectAll();
}

void BottomTables::showLog() {
  tabsDock_->show();
  tabsDock_->raise();
  tabs_->setCurrentIndex(pages_->indexOf(logView_));
  logFollows_ = true;
  logTimer_.start();
}

/// In the filter, Esc clears it and leaves it; anywhere else Esc belongs to the timeline. The log
/// opens at its end.
bool BottomTables::eventFilter(QObject* watched, QEvent* event) {
  const bool laidOut = event->type() == QEvent::Show || event->type() == QEvent::Resize;
  if (watched == logView_ && laidOut && logFollows_) {
    logTimer_.start();
  }
  if (watched == opFilter_ && event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    opFilter_->clear();
    opsTable_->setFocus();
    return true;
  }
  return QObject::eventFilter(watched, event);
}

void BottomTables::offerAcceptance(const QPoint& position) {
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
  menu.addSeparator();
  menu.addActions(fallbackTable_->actions());
  menu.addAction(tr("Copy issue report"), this, &BottomTables::copyIssueReport);
  menu.exec(fallbackTable_->viewport()->mapToGlobal(position));
}

void BottomTables::setSmall(bool small) {
  if (small == small_) {
    return;
  }
  small_ = small;
  QWidget* current = pages_->currentWidget();
  if (small) {
    addPage(syncTable_, tr("Sync points"), pages_->indexOf(fallbackPage_) + 1);
  } else {
    const QSignalBlocker quiet(tabs_);
    tabs_->removeTab(pages_->indexOf(syncTable_));
    syncDock_->setWidget(syncTable_);
    syncTable_->show();
  }
  tabs_->setCurrentIndex(std::max(pages_->indexOf(current), 0));
  pages_->setCurrentIndex(tabs_->currentIndex());
  syncDock_->setVisible(!small);
  refreshIssueLink();
  // The layout may come after the run, as in a window that is not shown yet.
  if (small && worst_ == Lane::kSyncPoints) {
    showFilledPage(worst_);
  }
}

bool BottomTables::currentIsEmpty() const {
  const auto* shown =
      currentTable() ? currentTable() : qobject_cast<QAbstractItemView*>(pages_->currentWidget());
  return !shown || shown->model()->rowCount() == 0;
}

void BottomTables::showFilledPage(std::optional<views::Lane> worst) {
  worst_ = worst;
  if (userChose_) return;
  QList<EventTable*> tables{fallbackTable_, opsTable_, stepTable_};
  if (small_) tables.insert(1, syncTable_);
  if (worst == Lane::kFallbacks) {
    tables.prepend(fallbackTable_);
  } else if (worst == Lane::kSyncPoints && small_) {
    tables.prepend(syncTable_);
  } else if (!currentIsEmpty() && pages_->currentWidget() != stepTable_) {
    return;
  }
  for (EventTable* table : tables) {
    if (table->model()->rowCount() > 0) {
      tabs_->setCurrentIndex(pageOf(table));
      return;
    }
  }
}

void BottomTables::startOver() {
  userChose_ = false;
  worst_.reset();
  wholeRunOps_.reset();
  opsOf_.reset();
  ops_.refresh({});
  hostTime_.refresh({}, 0);
  hostTimeUpToNs_ = -1;
  hostTimeAgain_ = QDeadlineTimer();
}

void BottomTables::finish() {
  if (!isCounting_) return;
  while (wholeRunOps_.countSome()) {
  }
  refreshOps();
}

void BottomTables::refreshOps() {
  QElapsedTimer turn;
  turn.start();
  while (wholeRunOps_.countSome()) {
    if (!turn.hasExpired(kTurnMs)) continue;
    opsTimer_.start();
    isCounting_ = true;
    return;
  }
  opsTimer_.stop();
  showOps();
  if (std::exchange(isCounting_, false)) {
    refreshOpsTitle();
    emit counted();
  }
}

void BottomTables::showOps() {
  const auto& selection = axis_->selection();
  if (!selection) {
    ops_.refresh(wholeRunOps_.update());
    opsOf_.reset();
    return;
  }
  if (opsOf_ != selection) {
    ops_.refresh(wholeRunOps_.in(*selection));
    opsOf_ = selection->endNs <= store_->completeUpToNs() ? selection : std::nullopt;
  }
}

void BottomTables::refresh(const analysis::RunSummary& summary) {
  const bool cpu = !store_->hasMemoryCounters(), ended = store_->end().has_value();
  const bool range = axis_->selection().has_value();
  showFallbacks(!store_->fallbacks().empty());
  fallbackTable_->setEmptyText(tr("No CPU fallbacks in the selection"));
  syncTable_->setEmptyText(cpu     ? tr("On the CPU there is no device to wait for")
                           : range ? tr("The host did not wait for the device in the selection")
                           : ended ? tr("The host did not wait for the device")
                                   : tr("The host has not waited for the device yet"));
  stepTable_->setEmptyText(range   ? tr("No whole step lies in the selected range")
                           : ended ? tr("The run ended before its first step was finished")
                                   : tr("Each finished step appears here, the newest first"));
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
  refreshHostTime();
  steps_.setRange(axis_->selection());
  // A script's loss is known where it reads the tensor. A size that is the same in all steps stands
  // in Controls.
  stepTable_->setColumnHidden(StepModel::kLoss,
                              store_->ownScript() && !store_->steps().lastLossRow);
  for (const auto size : {StepModel::kBatch, StepModel::kSequence}) {
    stepTable_->setColumnHidden(size, !steps_.varies(size));
  }
  log_.refresh(*store_);
  refreshTitles(summary.fallbacks.size(), summary.syncPoints.size());
  refreshIssueLink();
  markPicked();
}

void BottomTables::refreshTitles(std::size_t fallbacks, std::size_t syncs) {
  const auto counted = [](const QString& name, std::size_t count) {
    return count > 0 ? QStringLiteral("%1  %2").arg(name).arg(count) : name;
  };
  if (const int page = pages_->indexOf(fallbackPage_); page >= 0) {
    tabs_->setTabText(page, counted(tr("Fallbacks"), fallbacks));
  }
  refreshOpsTitle();
  if (small_) {
    tabs_->setTabText(pages_->indexOf(syncTable_), counted(tr("Sync points"), syncs));
  }
  syncTitle_->setSubtitle(syncs > 0 ? (syncs == 1 ? tr("1 place") : tr("%1 places").arg(syncs))
                                    : QString());
}

void BottomTables::refreshOpsTitle() {
  const QString forgotten = tr("Older ops are only in the recording: they are not counted");
  tabs_->setTabText(pages_->indexOf(opsTable_), ops_.partial() ? tr("Newest ops") : tr("Ops"));
  tabs_->setTabToolTip(pages_->indexOf(opsTable_), ops_.partial() ? forgotten : QString());
  opsTable_->setEmptyText(
      isCounting_ ? tr("Counting the recorded ops…")
      : ops_.partial()
          ? forgotten
          : tr("No op was recorded here. To see what each op costs, record every op: press "
               "%1 during a run, or choose the level before it")
                .arg(views::keyText(QKeySequence(Qt::CTRL | Qt::Key_L))));
}

void BottomTables::showPickedTable() {
  const auto& picked = focus_->picked();
  const QWidget* current = pages_->currentWidget();
  const bool readsOther = current != fallbackPage_ && current != syncTable_ &&
                          current != opsTable_ && current != stepTable_;
  if (!picked || readsOther) {
    return;
  }
  EventTable* table = picked->lane == Lane::kFallbacks    ? fallbackTable_
                      : picked->lane == Lane::kSyncPoints ? syncTable_
                      : picked->lane == Lane::kOps        ? opsTable_
                      : picked->lane == Lane::kSteps      ? stepTable_
                                                          : nullptr;
  QWidget* inPages = table == fallbackTable_ ? fallbackPage_ : table;
  const int page = inPages ? pages_->indexOf(inPages) : -1;
  if (page >= 0 && table->currentIndex().isValid()) {
    tabs_->setCurrentIndex(page);
  }
}

void BottomTables::markPicked() {
  const auto& op = focus_->op();
  const auto mark = [&op](EventTable* table, const OpTotalsModel& model, Lane lane) {
    table->markRow(op && op->lane == lane ? model.rowOf(op->op, op->where, op->kind, op->planned)
                                          : -1);
  };
  mark(fallbackTable_, fallbacks_, Lane::kFallbacks);
  mark(syncTable_, syncPoints_, Lane::kSyncPoints);
  opsTable_->markRow(op && op->lane == Lane::kOps ? ops_.rowOf(op->op) : -1);
  const bool lost = op && (op->lane == Lane::kFallbacks || op->lane == Lane::kSyncPoints);
  compareTable_->markRow(lost ? compare_.rowOf(op->op, op->where, op->kind) : -1);
  const auto& event = focus_->picked();
  stepTable_->markRow(event && event->lane == Lane::kSteps ? steps_.rowOf(event->index) : -1);
  refreshIssueLink();
}

}  // namespace highwater::window

#pragma once

#include <QDeadlineTimer>
#include <QObject>
#include <QTimer>
#include <optional>

#include "analysis/comparison.h"
#include "analysis/op_times.h"
#include "analysis/run_summary.h"
#include "models/compare_model.h"
#include "models/host_time_model.h"
#include "models/log_model.h"
#include "models/op_times_model.h"
#include "models/op_totals_model.h"
#include "models/search_model.h"
#include "models/step_model.h"
#include "views/panes/event_focus.h"

class QDockWidget;
class QLabel;
class QLineEdit;
class QListView;
class QStackedWidget;
class QTabBar;
class QToolButton;

namespace highwater::views {
class DockTitle;
class EventTable;
}  // namespace highwater::views

namespace highwater::window {

/// The tables at the bottom with their models: fallbacks, ops, steps and the log as tabs of one
/// dock; sync points in a dock beside it, or as one more tab in a small window.
class BottomTables final : public QObject {
  Q_OBJECT

 public:
  BottomTables(QDockWidget* tabsDock, QDockWidget* syncDock, const analysis::LiveStore* store,
               views::TimeAxis* axis, views::EventFocus* focus);

  [[nodiscard]] models::LogModel& log() { return log_; }
  /// Shows what the store has by now. `summary` covers the selected range, or the whole run.
  void refresh(const analysis::RunSummary& summary);
  /// Shows the waits and fallbacks of two ranges side by side in a table of its own; nullptr
  /// removes the table.
  void showComparison(const analysis::Comparison* comparison);
  /// Forgets all counts. Call it when the store holds another run.
  void startOver();
  /// Whether ops are being counted: the table of ops is not complete.
  [[nodiscard]] bool isCounting() const { return isCounting_; }
  /// Counts at once what is left to be counted.
  void finish();
  /// Chooses the layout: in a small window the sync points are one more tab, otherwise they have a
  /// dock of their own.
  void setSmall(bool small);
  /// Switches to the table of `worst`, the lane that the worst finding is about; without one, and
  /// if the current table is empty or that of the steps, which each run has, to the first that is
  /// not.
  void showFilledPage(std::optional<views::Lane> worst);
  /// Whether the current page has no rows.
  [[nodiscard]] bool currentIsEmpty() const;
  /// Shows the end of the log.
  void showLog();
  /// Makes the page with what a search has found. `search` is not owned and must outlive this
  /// object.
  void addSearch(models::SearchModel* search);
  /// Shows that page as the last tab and switches to it, or removes it.
  void showSearch(bool shown);
  /// Shows a page that not every run has, at the place `index` or as the last tab, or removes it.
  /// `page` is not owned.
  void showExtraPage(QWidget* page, const QString& title, bool shown, int index = -1);
  /// Switches to a page that is shown.
  void bringToFront(QWidget* page);
  /// Shows the log with a line of it, a row of log(), selected.
  void showLogLine(int row);
  /// Shows the table of ops and puts the keyboard focus into its filter.
  void filterOps();

 signals:
  /// The ops were being counted, and now the table has all of them.
  void counted();
  /// The user accepts that an op (its full name) runs on the CPU.
  void acceptRequested(const QString& op);
  /// The user picked a row of the search.
  void matchPicked(int row);
  /// The user withdrew the acceptance of an op (its full name) in the table of fallbacks.
  void withdrawRequested(const QString& op);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  views::EventTable* makeOpTable(models::OpTotalsModel* model, views::Lane lane, const char* name,
                                 const QString& accessibleName);
  void makeStepTable();
  void makeCompareTable();
  void makeOpsTable();
  void makeOpTools();
  void makeHostTimeTable();
  void makeLog();
  void addPage(QWidget* page, const QString& title, int index = -1);
  /// Puts the link to copy an issue report under the table of fallbacks.
  void makeFallbackPage();
  void addCsvLink(views::DockTitle* title, const char* name);
  /// The index of the page that shows a table or the log.
  [[nodiscard]] int pageOf(QWidget* view) const;
  /// The table on the current page; nullptr for the log.
  [[nodiscard]] views::EventTable* currentTable() const;
  /// The op of the selected fallback, or else of the first; its full name, empty if there is none.
  [[nodiscard]] QString opToReport() const;
  void copyIssueReport();
  void refreshIssueLink();
  void offerAcceptance(const QPoint& position);
  /// Counts new ops for a short while; where many are left, the next turn of the event loop goes on
  /// and the table says so.
  void refreshOps();
  /// Shows the counts of the ops in the selection, or in the whole run.
  void showOps();
  void refreshOpsTitle();
  void refreshTitles(std::size_t fallbacks, std::size_t syncs);
  void markPicked();
  /// The range that the tables show: the selection, or else the whole run.
  [[nodiscard]] views::TimeRange shownRange() const;
  /// Shows the table that has the row of the picked event, unless the log, the search or the
  /// comparison is being read.
  void showPickedTable();
  /// Shows the table of fallbacks, at first in front where the user reads nothing else; or removes
  /// it.
  void showFallbacks(bool any);
  /// Shows the table of a script's host time, or removes it.
  void refreshHostTime();
  /// Counts it while it is in front, and again when the run has gone on for long enough.
  void countHostTime();
  void markHit();
  void refreshSearchTitle();

  const analysis::LiveStore* store_;
  views::TimeAxis* axis_;
  views::EventFocus* focus_;
  models::FallbackModel fallbacks_;
  models::SyncPointModel syncPoints_;
  models::OpTimesModel ops_;
  models::StepModel steps_;
  models::HostTimeModel hostTime_;
  models::CompareModel compare_;
  models::LogModel log_;
  analysis::RunningOpTimes wholeRunOps_;
  /// The range that ops_ shows; empty for the whole run, and while the range may still get ops.
  std::optional<views::TimeRange> opsOf_;
  /// Up to when the host time was counted, of which range, and from when on it is counted again, so
  /// that counting takes a small part of the window's time.
  std::int64_t hostTimeUpToNs_ = -1;
  std::optional<views::TimeRange> hostTimeOf_;
  QDeadlineTimer hostTimeAgain_;
  QTimer opsTimer_;  ///< until the next turn of counting ops
  bool isCounting_ = false;
  QTimer logTimer_;
  bool logFollows_ = true;  ///< the user has not scrolled up to read

  QDockWidget *tabsDock_, *syncDock_;
  views::DockTitle *tabsTitle_, *syncTitle_;
  views::EventTable *fallbackTable_, *syncTable_, *stepTable_, *opsTable_, *compareTable_,
      *hostTimeTable_;
  QWidget* fallbackPage_ = nullptr;
  QWidget* fallbackFoot_ = nullptr;
  QLabel* issueOp_ = nullptr;
  QToolButton *issueLink_ = nullptr, *csvLink_ = nullptr;
  models::SearchModel* search_ = nullptr;
  views::EventTable* searchTable_ = nullptr;
  QWidget* pageBeforeSearch_ = nullptr;
  QListView* logView_;
  QTabBar* tabs_;
  QStackedWidget* pages_;
  QToolButton* opGrouping_;
  QLineEdit* opFilter_;
  std::optional<views::Lane> worst_;  ///< whose table was asked for; empty once the user chose
  bool userChose_ = false;            ///< a tab, in this run: none is chosen for them then
  bool small_ = false;
};

}  // namespace highwater::window

#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "analysis/op_times.h"
#include "analysis/run_summary.h"
#include "models/log_model.h"
#include "models/now_model.h"
#include "models/op_times_model.h"
#include "models/op_totals_model.h"
#include "models/step_model.h"
#include "views/event_focus.h"

class QDockWidget;
class QLineEdit;
class QMainWindow;
class QMenu;
class QStackedWidget;
class QTabBar;
class QToolButton;
class QListView;

namespace highwater::views {
class ControlsPanel;
class DockTitle;
class EventTable;
class SelectionPanel;
}  // namespace highwater::views

namespace highwater::app {

class FindingsDock;

/// The docks around the panes, with their models: Controls and Now at the left, Selection and
/// Findings at the right, the tables at the bottom.
class WindowDocks final : public QObject {
  Q_OBJECT

 public:
  WindowDocks(QMainWindow* window, const analysis::LiveStore* store, views::TimeAxis* axis,
              views::EventFocus* focus);

  [[nodiscard]] views::ControlsPanel* controls() const { return controls_; }
  [[nodiscard]] models::LogModel& log() { return log_; }
  [[nodiscard]] FindingsDock* findings() const { return findings_; }
  /// Takes over what the store has.
  void refresh();
  /// The store holds another run: forgets what was counted of the one before.
  void startOver();
  void setSmall(bool small);
  /// Where the table in front has nothing to show, brings one to the front that has.
  void showFilledPage();
  /// Shows the ops, with the cursor in their filter.
  void filterOps();
  /// Entries that show and hide the docks.
  void addTo(QMenu* menu) const;

 signals:
  /// From the table of fallbacks: the user accepts that an op runs on the CPU, or takes it back.
  void acceptRequested(const QString& op);
  void withdrawRequested(const QString& op);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QDockWidget* makeDock(const QString& title, const char* name, Qt::DockWidgetArea area);
  void makeLeft();
  void makeRight();
  void makeBottom();
  views::EventTable* makeOpTable(models::OpTotalsModel* model, views::Lane lane, const char* name);
  void makeStepTable();
  void makeOpsTable();
  void offerAcceptance(const QPoint& position);
  void refreshOps();
  void addPage(QWidget* page, const QString& title, int index = -1);
  /// The numbers of the selection, or of the whole run.
  const analysis::RunSummary& summary();
  void refreshTitles(std::size_t fallbacks, std::size_t syncs);
  void refreshSelectionTitle();
  void markPicked();

  QMainWindow* window_;
  const analysis::LiveStore* store_;
  views::TimeAxis* axis_;
  views::EventFocus* focus_;
  models::FallbackModel fallbacks_;
  models::SyncPointModel syncPoints_;
  models::OpTimesModel ops_;
  models::StepModel steps_;
  models::LogModel log_;
  models::NowModel now_;
  analysis::RunningSummary wholeRun_;
  analysis::RunningOpTimes wholeRunOps_;
  analysis::RunSummary summary_;
  /// What summary_ is of; none where it is of the whole run, or where more may come into the range.
  std::optional<views::TimeRange> summaryOf_;
  std::optional<views::TimeRange> opsOf_;  ///< likewise, of the rows in ops_
  QTimer selectionTimer_, logTimer_;

  QDockWidget *controlsDock_, *nowDock_, *selectionDock_, *findingsDock_, *eventsDock_, *syncDock_;
  views::ControlsPanel* controls_ = nullptr;
  views::SelectionPanel* selection_ = nullptr;
  FindingsDock* findings_ = nullptr;
  views::EventTable *fallbackTable_, *syncTable_, *stepTable_, *opsTable_;
  QListView* logView_;
  QTabBar* tabs_;
  QStackedWidget* pages_;
  QToolButton *clearSelection_, *opGrouping_;
  QLineEdit* opFilter_;
  bool small_ = false;
};

}  // namespace highwater::app

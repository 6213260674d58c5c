#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "analysis/run_summary.h"
#include "models/log_model.h"
#include "models/now_model.h"
#include "models/op_totals_model.h"
#include "models/step_model.h"
#include "views/event_focus.h"

class QDockWidget;
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

/// The docks around the panes, with their models: Controls and Now at the left, Selection at the
/// right, the tables at the bottom.
class WindowDocks final : public QObject {
  Q_OBJECT

 public:
  WindowDocks(QMainWindow* window, const analysis::LiveStore* store, views::TimeAxis* axis,
              views::EventFocus* focus);

  [[nodiscard]] views::ControlsPanel* controls() const { return controls_; }
  [[nodiscard]] models::LogModel& log() { return log_; }
  /// Takes over what the store has.
  void refresh();
  /// The store holds another run: forgets what was counted of the one before.
  void startOver();
  void setSmall(bool small);
  /// Entries that show and hide the docks.
  void addTo(QMenu* menu) const;

 private:
  QDockWidget* makeDock(const QString& title, const char* name, Qt::DockWidgetArea area);
  void makeLeft();
  void makeRight();
  void makeBottom();
  views::EventTable* makeOpTable(models::OpTotalsModel* model, views::Lane lane, const char* name);
  void makeStepTable();
  void addPage(QWidget* page, const QString& title, int index = -1);
  /// The numbers of the selection, or of the whole run.
  const analysis::RunSummary& summary();
  void refreshTitles(std::size_t fallbacks, std::size_t syncs);
  void markPicked();

  QMainWindow* window_;
  const analysis::LiveStore* store_;
  views::TimeAxis* axis_;
  views::EventFocus* focus_;
  models::FallbackModel fallbacks_;
  models::SyncPointModel syncPoints_;
  models::StepModel steps_;
  models::LogModel log_;
  models::NowModel now_;
  analysis::RunningSummary wholeRun_;
  analysis::RunSummary summary_;
  /// What summary_ is of; none where it is of the whole run, or where more may come into the range.
  std::optional<views::TimeRange> summaryOf_;
  QTimer selectionTimer_, logTimer_;

  QDockWidget *controlsDock_, *nowDock_, *selectionDock_, *eventsDock_, *syncDock_;
  views::ControlsPanel* controls_ = nullptr;
  views::SelectionPanel* selection_ = nullptr;
  views::EventTable *fallbackTable_, *syncTable_, *stepTable_;
  QListView* logView_;
  QTabBar* tabs_;
  QStackedWidget* pages_;
  QToolButton* clearSelection_;
  bool small_ = false;
};

}  // namespace highwater::app

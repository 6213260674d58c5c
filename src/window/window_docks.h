#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "analysis/comparison.h"
#include "analysis/run_summary.h"
#include "models/tuning_state.h"
#include "views/panes/event_focus.h"
#include "window/bottom_tables.h"

class QDockWidget;
class QMainWindow;
class QMenu;
class QStackedWidget;
class QToolButton;

namespace highwater::views {
class ComparePanel;
class ControlsPanel;
class ScriptControls;
class TuningPanel;
class SelectionPanel;
}  // namespace highwater::views

namespace highwater::window {

class FindingsDock;

/// The docks around the panes: Controls on the left, Selection and Findings on the right, the
/// tables at the bottom.
class WindowDocks final : public QObject {
  Q_OBJECT

 public:
  /// Creates the docks in `window`, which owns them. The other objects are not owned and must
  /// outlive this one.
  WindowDocks(QMainWindow* window, const analysis::LiveStore* store, views::TimeAxis* axis,
              views::EventFocus* focus, models::TuningState* tuning);
  /// Shows the dock of tuning, before the selection, or hides it.
  void showTuning(bool shown);
  /// Says beside the title of the controls whether a sweep sets them.
  void showWhoSetsKnobs(bool sweep);

  [[nodiscard]] views::ControlsPanel* controls() const { return controls_; }
  [[nodiscard]] views::ScriptControls* scriptControls() const { return scriptControls_; }
  /// Shows the controls of the user's own script, or those of the built-in workload.
  void showControlsOf(bool script);
  [[nodiscard]] views::TuningPanel* tuningPanel() const { return tuningPanel_; }
  [[nodiscard]] FindingsDock* findings() const { return findings_; }
  [[nodiscard]] BottomTables* tables() const { return tables_; }
  [[nodiscard]] models::LogModel& log() const { return tables_->log(); }
  /// Shows what the store has by now.
  void refresh();
  /// Says whether the run goes on: then Selection shows the newest steps and the machine now, else
  /// the whole run, from the next refresh() on.
  void setLive(bool live);
  /// Forgets all counts. Call it when the store holds another run.
  void startOver();
  /// Lays the docks out. `small` is the layout for windows under 1400 pixels wide or 820 high.
  void setSmall(bool small);
  [[nodiscard]] bool isSmall() const { return small_; }
  /// Moves the docks of both sides into one column on the right, as tabs; `tall`: Findings stands
  /// below the others. For windows that are too narrow for docks on both sides, after
  /// setSmall(true).
  void setCompact(bool tall);
  /// Gives the column of a compact window its width again, after the window was too narrow for it.
  void widenColumn();
  /// Hides the dock that is empty in a small window, which QMainWindow::restoreState() may show.
  void hideEmpty();
  /// Hides all docks, or shows those again that were hidden by this.
  void setShown(bool shown);
  /// Shows the docks that the layout has, also those that the user closed.
  void showAll();
  /// Adds an action for each dock to `menu`, which shows and hides the dock.
  void addTo(QMenu* menu) const;

 signals:
  /// The user accepts that an op (its full name) runs on the CPU.
  void acceptRequested(const QString& op);
  /// The user no longer accepts that an op (its full name) runs on the CPU.
  void withdrawRequested(const QString& op);
  /// The user picked a setting in the table of a sweep.
  void settingPicked(highwater::tuning::Setting setting);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  /// Names the tab bars of docks, for screen readers.
  void tidyTabBars();
  QDockWidget* makeDock(const QString& title, const char* name, Qt::DockWidgetArea area);
  [[nodiscard]] QList<QDockWidget*> all() const;
  void makeLeft();
  void makeRight();
  void makeBottom();
  /// The numbers of the tables: of the selected range, or of the whole run.
  const analysis::RunSummary& summary();
  /// Shows the share of device time in the selection, if the user has chosen it.
  void showDeviceShare();
  void refreshNumbers(const analysis::RunSummary& summary);
  void refreshSelectionTitle();
  /// Compares the pinned ranges, if both are pinned.
  void refreshComparison();
  /// Whether Compare takes the place of Selection. A new selection is shown before it.
  [[nodiscard]] bool showsComparison() const;

  QMainWindow* window_;
  const analysis::LiveStore* store_;
  views::TimeAxis* axis_;
  views::EventFocus* focus_;
  analysis::RunningSummary wholeRun_;
  analysis::RunSummary summary_;
  /// The range of summary_; empty for the whole run, and while the range may still get events.
  std::optional<views::TimeRange> summaryOf_;
  views::TimeRange numbersOf_;  ///< what the numbers of Selection are of
  QTimer selectionTimer_;
  bool scrollsToNumbers_ = false;  ///< with the next refresh

  models::TuningState* tuning_;
  QDockWidget* tuningDock_ = nullptr;
  views::TuningPanel* tuningPanel_ = nullptr;
  QDockWidget *controlsDock_, *nowDock_, *selectionDock_, *findingsDock_, *eventsDock_, *syncDock_;
  QStackedWidget* bothControls_ = nullptr;
  views::ControlsPanel* controls_ = nullptr;
  views::ScriptControls* scriptControls_ = nullptr;
  views::SelectionPanel* selection_ = nullptr;
  views::ComparePanel* compare_ = nullptr;
  std::optional<analysis::Comparison> comparison_;
  /// The ranges of comparison_; empty while they may still get events.
  std::array<std::optional<views::TimeRange>, 2> comparisonOf_;
  FindingsDock* findings_ = nullptr;
  BottomTables* tables_ = nullptr;
  QToolButton *clearSelection_, *pinA_, *pinB_, *swap_;
  bool live_ = false;
  bool compact_ = false;
  bool tidyLater_ = false;      ///< tidyTabBars() is on its way
  QList<QDockWidget*> hidden_;  ///< by setShown(), to be shown again
  bool shown_ = true, small_ = false;
};

}  // namespace highwater::window

#pragma once

#include <QWidget>
#include <optional>
#include <tuple>
#include <vector>

#include "views/panes/time_pane.h"

class QAction;
class QToolButton;

namespace highwater::models {
class SearchModel;
}

namespace highwater::views {

class DetailsStrip;
class MemoryPane;
class OverviewPane;
class Ruler;
class StepTimePane;
class ThroughputPane;
class TimelinePane;

/// The centre of the window: stacks all panes on the shared axis, from the ruler to the overview.
class PaneStack final : public QWidget {
  Q_OBJECT

 public:
  PaneStack(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
            QWidget* parent = nullptr);

  /// Redraws the panes soon. Call it when the store has changed.
  void refresh();
  /// Lays the panes out for a small window (under 1400 pixels wide or 820 high), without the
  /// throughput pane; `small` false: for a larger one.
  void setSmall(bool small);
  /// Offers the action that starts recording ops in the timeline's header: see
  /// TimelinePane::offerOps().
  void offerOps(QAction* action, const QString& again);
  /// See StepTimePane::setWaitsCostLittle().
  void setWaitsCostLittle(bool little);
  /// Marks the hits of a search in the ruler and in the overview. Not owned; it must outlive this
  /// widget.
  void showSearch(const models::SearchModel* search);
  /// The point of the screen at the foot of the ruler that belongs to a time of the run; the
  /// nearest one for a time that is not visible.
  [[nodiscard]] QPoint placeOf(std::int64_t ns) const;
  /// Shows and hides the pane of the process and its machine. Until the user does, it is shown
  /// where the memory pane keeps enough height.
  [[nodiscard]] QAction* systemAction() const { return system_.action; }
  /// The same for the loss, which is shown by itself once a loss was read.
  [[nodiscard]] QAction* lossAction() const { return loss_.action; }
  /// Draws everything at once, for pictures.
  void renderNow();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// A pane that is shown if the user wants it, or if there is room for it.
  struct Optional {
    TimePane* pane = nullptr;
    QAction* action = nullptr;
    QToolButton* toggle = nullptr;    ///< in the header of the pane above
    std::optional<bool> wanted = {};  ///< by the user
  };
  void makeOptional(Optional& optional, TimePane* above, const QString& text, const char* name,
                    const QString& tip);
  /// Shows and hides the optional panes by the room that there is.
  void placeOptional();
  /// Hides panes that the others leave no room for: first those that the run can be understood
  /// without.
  void giveWay();
  /// The height of the panes other than memory and timeline, which share the rest.
  [[nodiscard]] int fixedHeight() const;
  void shareHeight();

  std::vector<TimePane*> panes_;
  StepTimePane* stepTime_;
  ThroughputPane* throughput_;
  MemoryPane* memory_;
  TimelinePane* timeline_;
  DetailsStrip* details_;
  Optional system_, loss_;
  const analysis::LiveStore* store_;
  Ruler* ruler_;
  OverviewPane* overview_;
  /// What the panes that are shown depend on, as of the last refresh().
  std::tuple<int, int, bool> sharedFor_;
};

}  // namespace highwater::views

#pragma once

#include <QWidget>
#include <vector>

#include "views/panes/time_pane.h"

class QAction;

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
  /// Marks the hits of a search in the ruler and in the overview. Not owned; it must outlive this
  /// widget.
  void showSearch(const models::SearchModel* search);
  /// Draws everything at once, for pictures.
  void renderNow();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// The height of the panes other than memory and timeline, which share the rest.
  [[nodiscard]] int fixedHeight() const;
  void shareHeight();

  std::vector<TimePane*> panes_;
  StepTimePane* stepTime_;
  ThroughputPane* throughput_;
  MemoryPane* memory_;
  TimelinePane* timeline_;
  DetailsStrip* details_;
  int sharedFor_ = 0;  ///< the timeline's height without ops, as of shareHeight()
  Ruler* ruler_;
  OverviewPane* overview_;
};

}  // namespace highwater::views

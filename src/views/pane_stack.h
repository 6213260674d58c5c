#pragma once

#include <QWidget>
#include <vector>

#include "views/time_pane.h"

class QAction;

namespace highwater::views {

class DetailsStrip;
class MemoryPane;
class OverviewPane;
class Ruler;
class StepTimePane;
class ThroughputPane;
class TimelinePane;

/// The centre of the window: all panes on the shared axis, from the ruler to the overview. It only
/// stacks them.
class PaneStack final : public QWidget {
  Q_OBJECT

 public:
  PaneStack(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
            QWidget* parent = nullptr);

  /// The store has changed.
  void refresh();
  /// The layout for windows under 1400 wide, or under 820 high.
  void setSmall(bool small);
  /// Puts the action into the timeline's header as long as it shows no ops; nullptr takes it away.
  void offerOps(QAction* action);
  /// Draws everything now: for pictures.
  void renderNow();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// Of the panes that do not share the rest.
  [[nodiscard]] int fixedHeight() const;
  void shareHeight();

  std::vector<TimePane*> panes_;
  StepTimePane* stepTime_;
  ThroughputPane* throughput_;
  MemoryPane* memory_;
  TimelinePane* timeline_;
  DetailsStrip* details_;
};

}  // namespace highwater::views

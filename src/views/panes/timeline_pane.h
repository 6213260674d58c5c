#pragma once

#include "views/panes/time_pane.h"
#include "views/panes/timeline_lanes.h"

class QToolButton;

namespace highwater::views {

/// The pane with a row for each lane: steps, phases, evaluations and named phases, recorded ops (a
/// few depths of each thread), the device, sync points, fallbacks and markers.
class TimelinePane final : public TimePane {
  Q_OBJECT

 public:
  TimelinePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
               QWidget* parent = nullptr);
  void refresh() override;
  void setMeasures(const PaneMeasures& measures) override;
  /// Sets the most rows that recorded ops may take.
  void setMostOpRows(int most);
  /// Offers the action that starts recording ops in the pane's header, while no ops are recorded.
  /// nullptr removes it.
  void offerOps(QAction* action);
  /// The pane's height without rows of ops, in pixels.
  [[nodiscard]] int heightWithoutOps() const;

  /// Returns the event under a point of this widget, or else the nearest one within a few pixels;
  /// std::nullopt if there is none.
  [[nodiscard]] std::optional<EventRef> eventAt(const QPoint& position) const;
  /// The rows shown, in pixels of this widget.
  [[nodiscard]] const LaneRows& rows() const { return rows_; }
  [[nodiscard]] QString gutterTipAt(const QPoint& position) const override;

 protected:
  void paintMarks(QPainter& painter) override;
  [[nodiscard]] QString title() const override { return tr("Timeline"); }
  [[nodiscard]] std::vector<Readout> readouts() const override;
  [[nodiscard]] QString emptyText() const override;
  [[nodiscard]] QString tipAt(const QPoint& position) const override;
  void clicked(const QPoint& position) override;

 private:
  void layOut();
  [[nodiscard]] QString notRecorded() const;
  /// Whether most phases in view are too short to be drawn one by one.
  [[nodiscard]] bool mergesPhases() const;
  /// nullptr where there is no row.
  [[nodiscard]] const LaneRow* rowAt(int y) const;

  LaneRows rows_;
  std::vector<OpLane> opLanes_;
  int mostOpRows_ = 4;
  bool named_ = false;  ///< there is a row for evaluations and named phases
  TimelineLanes* lanes_;
  QToolButton* offer_;
};

}  // namespace highwater::views

#pragma once

#include "views/time_pane.h"
#include "views/timeline_lanes.h"

class QToolButton;

namespace highwater::views {

/// The lanes: steps, phases, ops where they were recorded (a few depths of each thread), sync
/// points, fallbacks, markers.
class TimelinePane final : public TimePane {
  Q_OBJECT

 public:
  TimelinePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
               QWidget* parent = nullptr);
  void refresh() override;
  void setMeasures(const PaneMeasures& measures) override;
  /// How many rows ops may take, where they have as many depths.
  void setMostOpRows(int most);
  /// See PaneStack::offerOps().
  void offerOps(QAction* action);
  /// The height without the rows of ops.
  [[nodiscard]] int heightWithoutOps() const;

  /// The event under a point of this widget, with a slack of a few pixels.
  [[nodiscard]] std::optional<EventRef> eventAt(const QPoint& position) const;
  [[nodiscard]] const LaneRows& rows() const { return rows_; }
  /// What a lane shows, its label in full.
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
  void paintOpLabel(QPainter& painter, const LaneRows::Row& row, const QRectF& box) const;
  /// The row at a height of this widget.
  [[nodiscard]] const LaneRows::Row* rowAt(int y) const;
  [[nodiscard]] std::optional<EventRef> markerAt(std::int64_t at, std::int64_t slack) const;
  [[nodiscard]] std::optional<EventRef> opAt(const LaneRows::Row& row, std::int64_t at,
                                             std::int64_t slack) const;

  LaneRows rows_;
  std::vector<OpLane> opLanes_;
  int mostOpRows_ = 4;
  TimelineLanes* lanes_;
  QToolButton* offer_;
};

}  // namespace highwater::views

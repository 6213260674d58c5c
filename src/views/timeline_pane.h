#pragma once

#include "views/time_pane.h"
#include "views/timeline_lanes.h"

namespace highwater::views {

/// The lanes: steps, phases, sync points, fallbacks, markers.
class TimelinePane final : public TimePane {
  Q_OBJECT

 public:
  TimelinePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
               QWidget* parent = nullptr);
  void setMeasures(const PaneMeasures& measures) override;

  /// The event under a point of this widget, with a slack of a few pixels.
  [[nodiscard]] std::optional<EventRef> eventAt(const QPoint& position) const;
  [[nodiscard]] const LaneRows& rows() const { return rows_; }

 protected:
  void paintMarks(QPainter& painter) override;
  [[nodiscard]] QString title() const override { return tr("Timeline"); }
  [[nodiscard]] QString emptyText() const override;
  [[nodiscard]] QString tipAt(const QPoint& position) const override;
  void clicked(const QPoint& position) override;

 private:
  LaneRows rows_;
  TimelineLanes* lanes_;
};

}  // namespace highwater::views

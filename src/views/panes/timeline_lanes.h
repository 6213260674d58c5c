#pragma once

#include <vector>

#include "views/lanes/lane_kind.h"
#include "views/panes/event_focus.h"
#include "views/panes/plot_layers.h"

namespace highwater::views {

/// Chooses the op lanes that get a row, `most` at most: first the outermost depth of every thread,
/// starting with the thread that has most ops; then the next depth of each.
[[nodiscard]] std::vector<OpLane> opLanes(const analysis::OpColumns& ops, int most);

/// The rows of the timeline pane, from top to bottom.
struct LaneRows {
  using Row = LaneRow;
  std::vector<LaneRow> rows;

  /// Places the rows below each other, from the pixel `top` on: steps, phases and device, a row for
  /// each of `ops`, and each other lane that has events in `store`. `small` is the layout for small
  /// windows: see PaneStack::setSmall().
  [[nodiscard]] static LaneRows from(double top, bool small, const analysis::LiveStore& store,
                                     const std::vector<OpLane>& ops = {});
  /// Returns the row of a lane; for Lane::kOps the first one. Precondition: there is one.
  [[nodiscard]] const LaneRow& of(Lane lane) const;
  /// The lower edge of the last row in pixels. Precondition: there are rows.
  [[nodiscard]] double bottom() const { return rows.back().top + rows.back().height; }
};

/// Draws the rows of the timeline, and marks the picked event and op in them.
class TimelineLanes final : public StorePlottable {
 public:
  TimelineLanes(QCustomPlot* plot, const analysis::LiveStore* store, const EventFocus* focus)
      : StorePlottable(plot, store), focus_(focus) {}
  /// Sets the rows to draw from the next redraw on.
  void setRows(const LaneRows& rows) { rows_ = rows; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  /// Hatches the op rows where the store has dropped ops.
  void drawForgotten(const LaneFrame& frame) const;
  /// Underlines the spans of the picked op.
  void drawPickedOp(const LaneFrame& frame, const LaneRow& row) const;
  void drawPicked(const LaneFrame& frame, const LaneRow& row) const;

  const EventFocus* focus_;
  LaneRows rows_;
};

}  // namespace highwater::views

#pragma once

#include <vector>

#include "views/event_focus.h"
#include "views/paint.h"
#include "views/plot_layers.h"

namespace highwater::views {

/// One lane of ops: a depth of a thread. `hiddenBelow` is how many deeper ones have no row.
struct OpLane {
  analysis::OpColumns::LaneKey key;
  int hiddenBelow = 0;

  bool operator==(const OpLane&) const = default;
};

/// The lanes of ops that get a row, `most` at most: first the outermost depth of every thread, the
/// thread with most ops first, then the next depth of each.
[[nodiscard]] std::vector<OpLane> opLanes(const analysis::OpColumns& ops, int most);

/// Where the lanes lie in the timeline pane, top to bottom.
struct LaneRows {
  struct Row {
    Lane lane = Lane::kSteps;
    double top = 0;
    double height = 0;
    OpLane ops = {};  ///< where `lane` is kOps
  };
  std::vector<Row> rows;

  /// `small` is the layout for windows under 1400 wide.
  [[nodiscard]] static LaneRows from(double top, bool small, const std::vector<OpLane>& ops = {});
  /// Of a lane that is no op's: there is one of each.
  [[nodiscard]] const Row& of(Lane lane) const;
  [[nodiscard]] double bottom() const { return rows.back().top + rows.back().height; }

  [[nodiscard]] static double opRowHeight(bool small) { return small ? 16 : 18; }
};

/// The spans and glyphs of the timeline. What is narrower than a pixel comes merged, shaded by how
/// busy that pixel was, so that a frame costs pixels × lanes × log N.
class TimelineLanes final : public StorePlottable {
 public:
  TimelineLanes(QCustomPlot* plot, const analysis::LiveStore* store, const EventFocus* focus)
      : StorePlottable(plot, store), focus_(focus) {}
  void setRows(const LaneRows& rows) { rows_ = rows; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  struct Frame;  ///< what one draw() needs everywhere
  void drawSteps(const Frame& frame) const;
  void drawRunningStep(const Frame& frame) const;
  void drawPhases(const Frame& frame) const;
  void drawSyncPoints(const Frame& frame) const;
  void drawFallbacks(const Frame& frame) const;
  void drawMarkers(const Frame& frame) const;
  void drawEnd(const Frame& frame) const;
  void drawOps(const Frame& frame, const LaneRows::Row& row) const;
  /// Where the store has no ops any more, though there may have been some.
  void drawForgotten(const Frame& frame) const;
  /// Marks the spans of the focused op in one row.
  void markOp(const Frame& frame, const LaneRows::Row& row, const analysis::SpanIndex& spans) const;
  void drawPicked(const Frame& frame, const LaneRows::Row& row) const;
  void drawFocus(const Frame& frame) const;

  const EventFocus* focus_;
  LaneRows rows_ = LaneRows::from(26, false);
};

}  // namespace highwater::views

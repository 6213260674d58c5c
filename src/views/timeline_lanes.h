#pragma once

#include <array>

#include "views/event_focus.h"
#include "views/paint.h"
#include "views/plot_layers.h"

namespace highwater::views {

/// Where the lanes lie in the timeline pane, top to bottom.
struct LaneRows {
  struct Row {
    Lane lane = Lane::kSteps;
    double top = 0;
    double height = 0;
  };
  std::array<Row, 5> rows;

  /// `small` is the layout for windows under 1400 wide.
  [[nodiscard]] static LaneRows from(double top, bool small);
  [[nodiscard]] const Row& of(Lane lane) const;
  [[nodiscard]] double bottom() const { return rows.back().top + rows.back().height; }
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
  void drawFocus(const Frame& frame) const;

  const EventFocus* focus_;
  LaneRows rows_ = LaneRows::from(26, false);
};

}  // namespace highwater::views

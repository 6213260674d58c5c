#pragma once

#include <functional>
#include <vector>

#include "views/panes/paint.h"
#include "views/panes/plot_layers.h"

namespace highwater::views {

/// The memory counters of one pixel column, in bytes: extremes of allocated (`current`) and driver
/// memory, and the process's footprint.
struct MemoryColumn {
  double x = 0;
  analysis::MinMax current, driver;
  double footprint = 0;  ///< NaN if unknown
};

/// Returns the memory of each pixel column of the scale: the extremes of its samples or, between
/// samples, an interpolated value. Columns before the first and after the last sample are left out.
/// `pixelRatio` is the number of columns in a pixel of the scale, as on a screen of high
/// resolution. Costs columns × log N.
[[nodiscard]] std::vector<MemoryColumn> sampleMemory(const analysis::LiveStore& store,
                                                     const TimeScale& scale, double pixelRatio = 1);

/// Fills the bands for live memory (in tensors) and cached memory (held by the driver, not in
/// tensors). `withHidden` adds the band of hidden memory, the part of the process's footprint above
/// driver memory. `yAt` maps bytes to pixels; nothing is drawn above `ceiling`. `columns` are those
/// of sampleMemory() for the pixel ratio of the painter's device.
///
/// A band is filled column by column, from whole pixel to whole pixel. The cost depends on the
/// number of pixels alone: polygons through the same columns took up to 450 ms where memory rises
/// and falls with every pixel.
void drawMemoryBands(QPainter& painter, const std::vector<MemoryColumn>& columns,
                     const std::function<double(double)>& yAt, double ceiling, const Theme& theme,
                     bool withHidden);

/// The plottable that draws the bands of the memory pane.
class MemoryBands final : public StorePlottable {
 public:
  using StorePlottable::StorePlottable;
  /// Sets the upper end of the value axis, in bytes.
  void setTopBytes(double bytes) { topBytes_ = bytes; }
  /// Chooses whether to draw the band of hidden memory: the part of the process's footprint above
  /// driver memory. Takes effect at the next redraw.
  void setWithHidden(bool on) { withHidden_ = on; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  double topBytes_ = 1;
  bool withHidden_ = true;
};

}  // namespace highwater::views

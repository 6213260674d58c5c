#pragma once

#include <functional>
#include <vector>

#include "views/paint.h"
#include "views/plot_layers.h"

namespace highwater::views {

/// The memory counters in one column of pixels.
struct MemoryColumn {
  double x = 0;
  analysis::MinMax current, driver;
  double footprint = 0;  ///< NaN where unknown
};

/// What each pixel column of the scale shows: the extremes of the samples in it, or the value
/// between its neighbours. Columns without data before or after the samples are left out. Costs
/// columns × log N.
[[nodiscard]] std::vector<MemoryColumn> sampleMemory(const analysis::LiveStore& store,
                                                     const TimeScale& scale);

/// Fills the bands live, cached and (unless `withHidden` is off) hidden. `yAt` maps bytes to
/// pixels.
void drawMemoryBands(QPainter& painter, const std::vector<MemoryColumn>& columns,
                     const std::function<double(double)>& yAt, const Theme& theme, bool withHidden);

/// The bands of the memory pane.
class MemoryBands final : public StorePlottable {
 public:
  using StorePlottable::StorePlottable;
  void setTopBytes(double bytes) { topBytes_ = bytes; }
  void setWithHidden(bool on) { withHidden_ = on; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  double topBytes_ = 1;
  bool withHidden_ = true;
};

}  // namespace highwater::views

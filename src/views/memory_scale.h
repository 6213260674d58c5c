#pragma once

#include <QString>
#include <vector>

namespace highwater::views {

enum class LimitKind { kRecommended, kLowWatermark, kHighWatermark, kFootprint };

struct MemoryLimitLine {
  LimitKind kind = LimitKind::kRecommended;
  double bytes = 0;
  double ratio = 1;  ///< of recommended
};

/// The value axis of the memory chart. A limit far above the data must not flatten it: it stands on
/// a shelf above the scale, with its true value, and joins the scale when the data comes near.
struct MemoryScale {
  double topBytes = 1;   ///< where the scale ends
  double tickBytes = 1;  ///< between labels
  double unitBytes = 1;
  QString unit;  ///< "GiB": what the labels are in
  std::vector<MemoryLimitLine> inScale;
  std::vector<MemoryLimitLine> shelf;  ///< highest first

  /// A label without its unit: "8", "2.5".
  [[nodiscard]] QString number(double bytes) const;
};

/// Recommended joins the scale once the data passes half of it, the watermarks at 85 %. `dataMax`
/// is the largest value drawn, in bytes; `ticks` how many labels there is room for.
[[nodiscard]] MemoryScale makeMemoryScale(double dataMax,
                                          const std::vector<MemoryLimitLine>& limits, int ticks);

}  // namespace highwater::views

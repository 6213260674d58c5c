#pragma once

#include <QList>
#include <QString>
#include <vector>

namespace highwater::views {

/// The kinds of lines in the memory chart: the device's recommended maximum, the allocator's low
/// and high watermark, and the process's footprint, which is no limit.
enum class LimitKind { kRecommended, kLowWatermark, kHighWatermark, kFootprint };

/// The dashes of the watermarks' lines, by the pen's width; recommended is solid. The dots of the
/// estimate for hidden memory are no limit and look like neither.
inline const QList<qreal> kLowWatermarkDashes{6, 3}, kHighWatermarkDashes{8, 3, 2, 3};

/// A line across the memory chart, with its value in bytes.
struct MemoryLimitLine {
  LimitKind kind = LimitKind::kRecommended;
  double bytes = 0;
  double ratio = 1;  ///< of recommended
};

/// The value axis of the memory chart. A limit far above the data would flatten the chart, so it is
/// listed with its value on a shelf above the scale, and joins the scale when the data comes near.
struct MemoryScale {
  double topBytes = 1;   ///< the upper end of the scale
  double tickBytes = 1;  ///< distance between labels
  double unitBytes = 1;
  QString unit;  ///< of the labels: "GiB"
  std::vector<MemoryLimitLine> inScale;
  std::vector<MemoryLimitLine> shelf;  ///< highest first

  /// Writes a size as a label without its unit: "8", "2.5". `bytes` is divided by unitBytes.
  [[nodiscard]] QString number(double bytes) const;
};

/// Writes the size of a limit with its unit, true to 1 %: "8.00 GiB", "870 MiB".
[[nodiscard]] QString limitText(double bytes);

/// Makes the value axis for memory up to `dataMax` bytes, the largest value drawn. `ticks` is the
/// number of labels that fit. The recommended maximum joins the scale once the data exceeds half of
/// it, a watermark at 85 %; other limits go to the shelf. A watermark above the recommended maximum
/// is left out until that joins the scale: it tells nothing before.
[[nodiscard]] MemoryScale makeMemoryScale(double dataMax,
                                          const std::vector<MemoryLimitLine>& limits, int ticks);

}  // namespace highwater::views

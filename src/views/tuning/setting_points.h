#pragma once

#include <QPainter>
#include <optional>
#include <vector>

#include "models/tuning_state.h"
#include "views/theme.h"

namespace highwater::views {

/// How a setting is drawn, the same in every view of tuning.
enum class PointLook {
  kMeasured,     ///< a disc
  kMeasuring,    ///< a disc in a dashed box
  kNext,         ///< a hollow circle
  kRecommended,  ///< a disc in a ring
  kOutOfMemory,  ///< an octagon
  kNotCompared,  ///< a hollow grey circle: measured at another length, or for few steps
  kChosen,       ///< an accent ring around a point or a place of the map
};

/// The settings that have a look of their own.
struct SettingMarks {
  std::optional<tuning::Setting> measuring = std::nullopt, next = std::nullopt,
                                 recommended = std::nullopt;
  [[nodiscard]] bool operator==(const SettingMarks&) const = default;
};

/// A setting and its look.
struct SettingPoint {
  tuning::Setting setting;
  PointLook look = PointLook::kMeasured;
};

/// The look of a setting that was tried.
[[nodiscard]] PointLook lookOf(const models::TriedSetting& tried, const SettingMarks& marks);
/// The settings that were tried and those of `marks`, each once, in the order in which they are
/// painted.
[[nodiscard]] std::vector<SettingPoint> pointsOf(const models::TuningState& state,
                                                 const SettingMarks& marks);

/// Draws a point of about 8 pixels around `centre`, with an outline in the colour of the ground.
void drawPoint(QPainter& painter, PointLook look, QPointF centre, const Theme& theme);

/// Finds places for labels so that none overlaps another, leaves the plot, or covers what it must
/// avoid.
class LabelPlacer {
 public:
  explicit LabelPlacer(const QRectF& area) : area_(area) {}

  void avoid(const QRectF& rect) { taken_.push_back(rect); }
  /// Whether a label has room there.
  [[nodiscard]] bool isFree(const QRectF& rect) const;
  /// A place for a label of `size` beside a point, `gap` pixels from its centre; std::nullopt if
  /// there is none. The place is taken then.
  [[nodiscard]] std::optional<QRectF> place(QPointF beside, QSizeF size, double gap);

 private:
  QRectF area_;
  std::vector<QRectF> taken_;
};

/// "16 × 256", or "16" for inputs without a length.
[[nodiscard]] QString shortText(tuning::Setting setting);

}  // namespace highwater::views

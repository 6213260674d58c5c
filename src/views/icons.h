#pragma once

#include <QColor>
#include <QIcon>

namespace highwater::views {

/// The line icons of buttons and actions.
enum class Icon {
  kRun,
  kPause,
  kStop,
  kEmptyCache,
  kFollow,
  kChip,  ///< a device
  kDetach,
  kClose,
  kDropDown,
  kSearch,
  kMark,
  kTimeline,
  kMap,  ///< of settings
};

/// The icon of the program: memory as a wave under its high-water line.
[[nodiscard]] QIcon applicationIcon();

/// A line icon of 16 × 16 in one colour, drawn at any resolution.
[[nodiscard]] QIcon icon(Icon which, const QColor& color);

}  // namespace highwater::views

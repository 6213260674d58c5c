#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>

#include "core/events_generated.h"

class QWidget;

namespace highwater::views {

/// The colours of the window. Data keeps its hue in both themes; what lies around it does not.
struct Theme {
  bool isDark = true;

  QColor plot, panel, header;
  QColor control, controlBorder;
  QColor track, stepBox;
  QColor separator, strongLine;
  QColor text1, text2, text3;
  QColor grid, shelf;
  QColor accent, accentFill;
  QColor selectionTint, selectedRow;
  QColor busy, neutralBar;

  QColor blue, sky, green, yellow, orange, vermillion, purple, grey;
  QColor orangeText, vermillionText;

  [[nodiscard]] static const Theme& dark();
  [[nodiscard]] static const Theme& light();
  /// The theme that a widget's palette belongs to, told by the lightness of its window colour. A
  /// widget that asks while painting follows a change of the application's palette by itself.
  [[nodiscard]] static const Theme& of(const QWidget* widget);

  [[nodiscard]] QColor phase(events::Phase phase) const;
  [[nodiscard]] QPalette palette() const;
  /// The application's style sheet: what a palette cannot say (borders, heights, radii).
  [[nodiscard]] QString styleSheet() const;
};

/// The application's font at a size in logical pixels.
[[nodiscard]] QFont textFont(int pixels, bool semibold = false);

inline constexpr int kSmallText = 11;
inline constexpr int kText = 12;
inline constexpr int kKeyText = 18;

}  // namespace highwater::views

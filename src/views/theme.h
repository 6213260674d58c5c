#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>

#include "core/events_generated.h"

class QWidget;

namespace highwater::views {

/// The colours of the window. The colours of data have the same hue in both themes.
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

  /// The dark theme.
  [[nodiscard]] static const Theme& dark();
  /// The light theme.
  [[nodiscard]] static const Theme& light();
  /// Returns the theme of a widget's palette, by the lightness of its text; that of the application
  /// for nullptr. A widget that calls this while painting follows changes of the application's
  /// palette.
  [[nodiscard]] static const Theme& of(const QWidget* widget);

  /// The colour of a phase of a training step.
  [[nodiscard]] QColor phase(events::Phase phase) const;
  /// The application's palette in the colours of this theme.
  [[nodiscard]] QPalette palette() const;
  /// The application's style sheet, for what a palette does not cover: borders, heights, radii.
  /// Empty if the resource is missing.
  [[nodiscard]] QString styleSheet() const;
};

/// Returns the application's font at a size in logical pixels, with digits of equal width from Qt
/// 6.7 on.
[[nodiscard]] QFont textFont(int pixels, bool semibold = false);

/// The room between the edge of a panel and what is in it, in logical pixels.
inline constexpr int kPanelInset = 12;
/// The height of a field or list among a panel's settings, in logical pixels.
inline constexpr int kControlHeight = 26;

/// The font size of captions and labels, in logical pixels.
inline constexpr int kSmallText = 11;
/// The normal font size of the window, in logical pixels.
inline constexpr int kText = 12;
/// The font size of the most important values, in logical pixels.
inline constexpr int kKeyText = 18;

}  // namespace highwater::views

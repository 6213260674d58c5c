#pragma once

#include <QString>

namespace highwater::app {

enum class ThemeChoice { kSystem, kLight, kDark };

/// Whether the system asks for dark: its colour scheme where Qt knows it, else the lightness of the
/// palette that the platform gave us at the start.
[[nodiscard]] bool systemIsDark();
/// Style, palette, style sheet and font for the whole application.
void applyTheme(ThemeChoice choice);

[[nodiscard]] QString themeKey(ThemeChoice choice);
[[nodiscard]] ThemeChoice themeFromKey(const QString& key);

}  // namespace highwater::app

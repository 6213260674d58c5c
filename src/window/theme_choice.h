#pragma once

#include <QString>

namespace highwater::window {

/// The theme that the user chose: light, dark, or that of the system.
enum class ThemeChoice { kSystem, kLight, kDark };

/// Whether the system prefers a dark theme: by its colour scheme if Qt knows it, or else by the
/// lightness of the platform's palette at start.
[[nodiscard]] bool systemIsDark();
/// Sets style, palette, style sheet and font of the application.
void applyTheme(ThemeChoice choice);

/// The name of a choice in the settings: "system", "light" or "dark".
[[nodiscard]] QString themeKey(ThemeChoice choice);
/// Returns the choice for a name from the settings; kSystem for an unknown name.
[[nodiscard]] ThemeChoice themeFromKey(const QString& key);

}  // namespace highwater::window

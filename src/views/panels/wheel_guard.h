#pragma once

#include <QWidget>

namespace highwater::views {

/// Has a slider, a spin box or a list take the wheel only while it has the focus; otherwise the
/// wheel goes to what it stands in. They get the focus by a click or Tab, not by the wheel.
void guardWheel(QWidget* control);

/// Whether the wheel is turning a guarded control now: a value that it gives is easily one that
/// nobody wanted.
[[nodiscard]] bool turnedByWheel();

}  // namespace highwater::views

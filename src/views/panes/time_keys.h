#pragma once

#include <QKeyEvent>
#include <QList>
#include <QString>
#include <utility>

#include "views/panes/event_focus.h"

namespace highwater::views {

/// Handles the keys of the timeline: W and S zoom, A and D pan, F fits, Space follows, `.` and `,`
/// step through events, `[` and `]` pin the selection as A and B, Esc clears. Returns whether the
/// key was one of them.
bool handleTimeKey(const QKeyEvent& event, TimeAxis& axis, EventFocus& focus);

/// Returns the keys of the timeline as pairs of key and meaning, for the Keys dialog.
[[nodiscard]] QList<std::pair<QString, QString>> timeKeys();

}  // namespace highwater::views

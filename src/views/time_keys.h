#pragma once

#include <QKeyEvent>
#include <QList>
#include <QString>
#include <utility>

#include "views/event_focus.h"

namespace highwater::views {

/// The keys of the timeline: W and S zoom, A and D pan, F fits, Space follows, `.` and `,` walk
/// through events, Esc clears. True where the key was one of them.
bool handleTimeKey(const QKeyEvent& event, TimeAxis& axis, EventFocus& focus);

/// The keys and what they do, for the list of keys.
[[nodiscard]] QList<std::pair<QString, QString>> timeKeys();

}  // namespace highwater::views

#pragma once

#include <QtGlobal>

namespace highwater::window {

/// After so many milliseconds in one turn of the event loop, counting ops and checking a run begin
/// no further part. The part in progress may take longer: up to 20 ms in a long run.
inline constexpr qint64 kTurnMs = 4;

}  // namespace highwater::window

#pragma once

#include <QtGlobal>

namespace highwater::window {

/// For how many milliseconds of one turn of the event loop counting or checking a run begins parts.
/// The last one may take longer than that: of a long run one part takes up to 20 ms
/// (docs/performance.md).
inline constexpr qint64 kTurnMs = 4;

}  // namespace highwater::window

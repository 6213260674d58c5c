#pragma once

namespace highwater::session {

/// The most reads from one descriptor in one turn of the event loop, so that an endless stream of
/// frames or lines does not starve other events.
inline constexpr int kReadsPerTurn = 4;

}  // namespace highwater::session

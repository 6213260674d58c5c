#pragma once

namespace highwater::session {

/// Of a descriptor in one turn of the event loop: frames or lines without end must not starve the
/// rest of it.
inline constexpr int kReadsPerTurn = 4;

}  // namespace highwater::session

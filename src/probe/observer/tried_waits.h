#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/ids.h"

namespace highwater::probe {

class CallSites;

/// Waits for the device that are left out for a while, so that the user sees how the run is without
/// them. Of each thread; only the thread that trains has any, and sets them between two steps.
///
/// Whether the thread tries any: all that a wait asks otherwise.
inline constinit thread_local bool triesWaits = false;

/// A wait at one of the tried places.
struct TriedWait {
  std::size_t place = 0;   ///< among those of tryWaits()
  bool isLeftOut = false;  ///< else it is as ever
};
/// Which of the tried places the calling thread's code is at; std::nullopt: none.
[[nodiscard]] std::optional<TriedWait> triedWaitHere();

/// Tries the waits at these call sites of the interpreted code, from now on; none: no more. `sites`
/// must outlive the try.
void tryWaits(CallSites& sites, std::vector<CallSiteId> places, bool leavesOut);

}  // namespace highwater::probe

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"

/// Waits for the device that are left out for a while, so that the user sees how the run is without
/// them. Each thread has its own; only the thread that trains has any, and sets them between two
/// steps.
namespace highwater::probe {

class Recorder;

/// Whether the calling thread tries any. While it does not, a wait looks at nothing else.
inline constinit thread_local bool triesWaits = false;

/// A wait at one of the tried places.
struct TriedWait {
  std::uint64_t place =
      0;  ///< the call site, and the number of the wait among those there in its step
  bool isLeftOut = false;  ///< else it is as ever
};
/// Whether the calling thread's code is at a tried place; std::nullopt: no, or nothing is observed.
/// Ask once for each wait, whether it is left out or not, so that both cost the same.
[[nodiscard]] std::optional<TriedWait> triedWaitHere() noexcept;

/// Whether the code that waits may do without: false in PyTorch's own, which decides by the value,
/// as a GradScaler whether the optimizer steps.
using MayLeaveOut = bool (*)() noexcept;

/// Tries the waits at these call sites of the interpreted code, from now on. `recorder` must
/// outlive the try.
void tryWaits(Recorder& recorder, std::vector<CallSiteId> places, bool leavesOut, MayLeaveOut may);
/// Every wait of the calling thread is as ever.
void tryNoWaits() noexcept;

/// Notes that the calling thread has queued a copy to the host that it does not wait for: the next
/// synchronize() makes it complete, and is not left out.
inline constinit thread_local bool copiesToHost = false;

}  // namespace highwater::probe

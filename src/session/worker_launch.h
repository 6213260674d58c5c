#pragma once

#include <chrono>

#include "core/result.h"
#include "session/session.h"

namespace highwater::session {

/// How long a worker may say nothing.
struct SupervisionLimits {
  std::chrono::milliseconds silence{10'000};  ///< while it trains: past it, it hangs
  std::chrono::milliseconds start{60'000};    ///< before its training has started
};

/// The limits, changed by $HIGHWATER_HANG_TIMEOUT_MS and $HIGHWATER_START_TIMEOUT_MS. kUsage where
/// one is not a whole number of milliseconds from 500 to 3600000.
[[nodiscard]] Result<SupervisionLimits> readSupervisionLimits();

}  // namespace highwater::session

#pragma once

#include <chrono>

#include "core/result.h"
#include "session/session.h"

namespace highwater::session {

/// How long a worker may send no message before its run ends as hung.
struct SupervisionLimits {
  std::chrono::milliseconds silence{10'000};  ///< once training has started; also limits a stall
  std::chrono::milliseconds start{60'000};    ///< until then
};

/// Reads the limits from $HIGHWATER_HANG_TIMEOUT_MS and $HIGHWATER_START_TIMEOUT_MS; a variable
/// that is not set leaves the default. Fails with kUsage if one is not a whole number of
/// milliseconds from 500 to 3600000.
[[nodiscard]] Result<SupervisionLimits> readSupervisionLimits();

}  // namespace highwater::session

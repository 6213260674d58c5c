#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater accept`: notes in a recording that an op's fallbacks to the CPU are accepted, or
/// withdraws that. Returns the exit code: kExitUsage if the op never fell back in the recording or
/// there is nothing to withdraw, kExitFailed for other errors.
[[nodiscard]] int runAccept(const AcceptOptions& options);

}  // namespace highwater::cli

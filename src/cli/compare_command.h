#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater compare`: prints what tells two recordings apart. Returns the exit code:
/// kExitFailed if a recording cannot be read, is damaged or has no step, and if a limit of
/// --fail-if is broken or cannot be judged.
[[nodiscard]] int runCompare(const CompareOptions& options);

}  // namespace highwater::cli

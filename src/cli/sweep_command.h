#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater sweep`: trains in a worker, measures the settings that the planner asks for and
/// prints them as they come, with the recommended one at the end. Returns the exit code; an
/// interrupted sweep prints what it has.
[[nodiscard]] int runSweep(const SweepCommandOptions& options);

}  // namespace highwater::cli

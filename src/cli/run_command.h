#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater run --record`: starts the user's own program, records the training in it, and
/// returns with the program's exit code; where a signal has ended it, ends by the same signal.
/// Needs a QCoreApplication whose event loop does not run yet. Prints to stderr only: stdout is the
/// program's.
[[nodiscard]] int runScript(const ScriptCommandOptions& options);

}  // namespace highwater::cli

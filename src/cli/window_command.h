#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater [FILE]`, or `highwater run` without --record: opens the window and blocks until
/// it is closed and the user's program, whose exit is then this one's, has ended. Returns the exit
/// code: kExitUsage if FILE does not exist, kExitFailed if there is no display or FILE cannot be
/// opened.
[[nodiscard]] int runWindow(const WindowOptions& options, int argc, char** argv);

}  // namespace highwater::cli

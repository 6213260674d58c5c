#pragma once

#include "app/options.h"

namespace highwater::app {

/// `highwater [FILE]`: opens the window and returns the exit code when it is closed. Where there is
/// no display it says so and what to do instead.
[[nodiscard]] int runWindow(const WindowOptions& options, int argc, char** argv);

}  // namespace highwater::app

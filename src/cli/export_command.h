#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater export`: draws a recording's window into an image file, without a screen.
/// Creates the QApplication. Returns the exit code: kExitFailed also for a damaged recording, which
/// is drawn all the same.
[[nodiscard]] int runExport(const ExportOptions& options, int argc, char** argv);

}  // namespace highwater::cli

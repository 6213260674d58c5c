#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater record`: trains in a worker and writes the recording, until the run ends. Needs
/// a QCoreApplication whose event loop does not run yet. Returns the exit code.
[[nodiscard]] int runRecord(const RecordOptions& options);

}  // namespace highwater::cli

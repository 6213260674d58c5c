#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater report`: prints the report of a recording to stdout. Returns the exit code:
/// kExitFailed if the recording cannot be read or is damaged; what precedes the damage is reported.
[[nodiscard]] int runReport(const ReportOptions& options);

}  // namespace highwater::cli

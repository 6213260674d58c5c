#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater export` to a trace in Chrome's format. Returns the exit code: kExitFailed if the
/// recording cannot be read or is damaged, in which case what precedes the damage is written, and
/// if the trace cannot be written, in which case no file is left.
[[nodiscard]] int runTraceExport(const TraceOptions& options);

}  // namespace highwater::cli

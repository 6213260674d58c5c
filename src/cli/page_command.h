#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater report --html`: writes the report of a recording as a web page with pictures of
/// its panes, without a screen. Creates the QApplication. Returns the exit code: kExitFailed if the
/// recording cannot be read or is damaged, in which case what precedes the damage is written, and
/// if the page cannot be written, in which case no file is left.
[[nodiscard]] int runReportPage(const ReportPageOptions& options, int argc, char** argv);

}  // namespace highwater::cli

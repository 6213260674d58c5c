#pragma once

#include "app/options.h"

namespace highwater::app {

/// `highwater report`. Returns the exit code.
[[nodiscard]] int runReport(const ReportOptions& options);

}  // namespace highwater::app

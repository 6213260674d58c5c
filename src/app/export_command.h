#pragma once

#include "app/options.h"

namespace highwater::app {

/// `highwater export`: draws without a screen. Returns the exit code.
[[nodiscard]] int runExport(const ExportOptions& options, int argc, char** argv);

}  // namespace highwater::app

#pragma once

#include "app/options.h"

namespace highwater::app {

/// `highwater record`. Needs a QCoreApplication whose event loop does not run yet. Returns the exit
/// code.
[[nodiscard]] int runRecord(const RecordOptions& options);

}  // namespace highwater::app

#pragma once

#include "app/options.h"

namespace highwater::app {

/// `highwater doctor`. Needs a QCoreApplication. Returns the exit code: failed where the worker
/// gives no answer, with everything else told all the same.
[[nodiscard]] int runDoctor(const DoctorOptions& options);

}  // namespace highwater::app

#pragma once

#include "app/options.h"

namespace highwater::app {

/// `highwater doctor --selftest`: each check of worker/self_test.h in a process of its own, so that
/// one that hangs or aborts is a result. Needs a QCoreApplication. Returns the exit code: failed
/// where a check failed or none could be made.
[[nodiscard]] int runSelfTest(const DoctorOptions& options);

}  // namespace highwater::app

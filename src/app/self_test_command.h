#pragma once

#include "app/options.h"

namespace highwater::app {

/// `highwater doctor --selftest`: each check of worker/self_test.h in a process of its own, so that
/// one that hangs or aborts is a result. Needs a QCoreApplication. Returns the exit code: failed
/// where a check failed or none could be made. A check may take as long as a worker may be silent
/// ($HIGHWATER_HANG_TIMEOUT_MS).
[[nodiscard]] int runSelfTest(const DoctorOptions& options);

}  // namespace highwater::app

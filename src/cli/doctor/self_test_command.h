#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// `highwater doctor --selftest`: runs the checks of worker/checks/self_test.h, each in its own
/// process, so that a check that hangs or aborts fails instead of ending the test. A check may take
/// $HIGHWATER_HANG_TIMEOUT_MS, all together two minutes. Needs a QCoreApplication. Returns the exit
/// code: failed where a check failed or none could be run.
[[nodiscard]] int runSelfTest(const DoctorOptions& options);

}  // namespace highwater::cli

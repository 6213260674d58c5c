#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// `highwater doctor --selftest`: runs the checks of worker/checks/self_test.h in processes of
/// their own: a check that hangs or aborts fails, and those after it run in another process. A
/// check may take $HIGHWATER_HANG_TIMEOUT_MS, all together two minutes, or five on a real device.
/// The file of
/// --json is written after each check ("complete": false until the end), and also where no check
/// can be run: then with the reason, what the loader says and the libraries that the worker is
/// linked to. Needs a QCoreApplication. Returns the exit code: failed where a check failed or none
/// could be run.
[[nodiscard]] int runSelfTest(const DoctorOptions& options);

}  // namespace highwater::cli

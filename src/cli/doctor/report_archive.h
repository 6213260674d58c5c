#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater doctor --report`: tries on this machine what Highwater does, and collects what
/// the tries said into one archive to send. A try that fails is noted in it. What is known to tell
/// whose machine it is (PrivateWords) is taken out of its texts. Needs a QCoreApplication. Returns
/// the exit code: kExitDone where the archive is written.
[[nodiscard]] int runReportArchive(const DoctorOptions& options);

}  // namespace highwater::cli

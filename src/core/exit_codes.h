#pragma once

namespace highwater {

/// Exit codes of `highwater` and `highwater-worker`.
enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitEndedEarly = 3,  ///< killed, hung, or out of memory without recovery
};

}  // namespace highwater

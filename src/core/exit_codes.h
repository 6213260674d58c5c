#pragma once

namespace highwater {

/// Exit codes of `highwater` and `highwater-worker`.
enum ExitCode : int {
  kExitDone = 0,        ///< success
  kExitFailed = 1,      ///< any other error
  kExitUsage = 2,       ///< wrong arguments, options or environment variables
  kExitEndedEarly = 3,  ///< the run was stopped, killed or aborted, hung, or ran out of memory
};

}  // namespace highwater

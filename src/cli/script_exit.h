#pragma once

#include "session/process_exit.h"

namespace highwater::cli {

/// Ends this process as the user's program ended: by the same signal, without a core of its own, or
/// else by returning its exit code, which the caller is to return from main().
[[nodiscard]] int exitAs(const session::ProcessExit& exit);

}  // namespace highwater::cli

#pragma once

#include "core/result.h"
#include "session/unique_fd.h"

namespace highwater::session {

/// Where the output of the user's program goes so that it appears both where it would have gone and
/// here. A process of its own copies it, forked by start(): it outlives this one, so that a window
/// that ends or hangs neither stops nor slows the program. It ends with the last process that has
/// the program's output open.
///
/// Where stdout and stderr are one terminal, or go nowhere, as in a program that was started from a
/// desktop, the program gets a terminal, and its progress bars stay progress bars. Where they are
/// one file they get one pipe, which keeps their order; otherwise each of the two gets its own.
struct OutputRelay {
  UniqueFd out;   ///< for the program's stdout
  UniqueFd err;   ///< for its stderr
  UniqueFd copy;  ///< reads what it prints, does not block; what nobody reads in time is dropped

  /// Fails with kFailed and the system's reason. `mayDrop`: what stdout and stderr, which then do
  /// not block, do not take at once is dropped, rather than that the program waits for them.
  [[nodiscard]] static Result<OutputRelay> start(bool mayDrop = false);
};

}  // namespace highwater::session

#pragma once

#include "core/messages.h"
#include "core/result.h"
#include "session/session.h"

namespace highwater::session {

/// Asks a worker (`--describe`) what it is and which device it would take, without a run. Waits for
/// it, with an event loop of its own. The error is how the worker failed to answer.
[[nodiscard]] Result<Hello> describeWorker(const LaunchOptions& options);

}  // namespace highwater::session

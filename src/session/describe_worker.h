#pragma once

#include "core/messages.h"
#include "core/result.h"
#include "session/session.h"

namespace highwater::session {

/// Starts a worker with `--describe`, which reports its versions and the device that it would use
/// but does not train. Blocks in an event loop of its own, for the start timeout at most
/// ($HIGHWATER_START_TIMEOUT_MS). Fails with kUsage if the worker refuses its options, with kFailed
/// if it does not answer, and with the errors of readSupervisionLimits(), findWorker() and
/// WorkerProcess::start().
[[nodiscard]] Result<Hello> describeWorker(const LaunchOptions& options);

}  // namespace highwater::session

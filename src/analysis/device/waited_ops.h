#pragma once

#include <map>
#include <string>

#include "analysis/live_store.h"

/// What single ops take of the device's time, measured by the waits for their results.
namespace highwater::analysis {

/// Whether an op waits to read values of its own, such as the number of its results: nonzero() and
/// indices by a mask, unique(), and others.
[[nodiscard]] bool readsOwnValues(events::SyncKind kind);

/// Whether the device works on the op of `wait` alone while the host waits for it: `before`, the
/// wait before it, was that of an op of the same line, and the host has queued next to nothing
/// since. From the end of `before` to its own, the time is the op's.
[[nodiscard]] bool waitsForOneOp(const LiveStore& store, const events::SyncPoint& before,
                                 const events::SyncPoint& wait);

/// What the ops of a line take, as shares of the time from the first step to the last, 0 to 1.
struct WaitedOps {
  double least = 0;  ///< where the device works on one of them alone
  double most = 0;   ///< all waits for them
};

/// The lines for whose ops it was measured, by path and line as CallSiteParts has them.
[[nodiscard]] std::map<std::string, WaitedOps> waitedOps(const LiveStore& store);

}  // namespace highwater::analysis

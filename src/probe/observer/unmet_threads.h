#pragma once

#include <ATen/core/operator_name.h>

#include <unordered_set>

namespace highwater::probe {

using OpNames = std::unordered_set<c10::OperatorName>;

/// Registers kernels that notice the unmet threads: those that wait or fall back although nobody
/// has had them watched, as a thread of the user's own outside of phases and modules. They are at
/// DispatchKey::BackendSelect, which the ops of every thread pass, for the ops that wait themselves
/// and for `mayFallBack`. On an unmet thread, and where the op does wait or fall back,
/// they call `meet()`; if that returns true, the thread is watched from this op on. Training thread
/// only. Does nothing after the first call but set `meet`.
///
/// The kernels stay to the end of the process, and call only the next kernel while kernelsObserve
/// is false: PyTorch lets no kernel go that an op is on its way to, and any thread may run one. Nor
/// does it guard the registration against ops that other threads run at that moment, so it is best
/// made before they do. A library with this code must not be unloaded.
void noticeUnmetThreads(const OpNames& mayFallBack, bool (*meet)() noexcept);

}  // namespace highwater::probe

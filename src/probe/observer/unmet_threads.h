#pragma once

namespace highwater::probe {

/// Registers kernels that notice threads which wait or fall back although nobody has had them
/// watched: in a thread of the user's own, outside of phases and modules. They are at
/// DispatchKey::BackendSelect, which the ops of every thread pass, for the ops that are at the
/// bottom of each wait and fallback. `meet()` is called on such a thread; where it returns true,
/// the op is dispatched again, to be observed. Training thread only.
///
/// The kernels stay to the end of the process, and call only the next kernel while kernelsObserve
/// is false: PyTorch lets no kernel go that an op is on its way to, and any thread may run one.
void noticeUnmetThreads(bool (*meet)() noexcept);

}  // namespace highwater::probe

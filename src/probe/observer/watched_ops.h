#pragma once

#include <cstddef>

#include "probe/observer/device_kind.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Registers kernels that observe the ops that can wait or fall back, some 200 of PyTorch's 3,000,
/// from construction to destruction. All other ops take the way that they take without it.
///
/// The kernels are at DispatchKey::TESTING_ONLY_GenericMode, which all supported versions have, no
/// feature of PyTorch uses, and only PythonDispatcher and PreDispatch precede. Only threads whose
/// thread-local state includes the key pass it: those with a WatchedThread, the threads of autograd
/// that work for them, and any thread from its first wait or fallback on (unmet_threads). All other
/// ops fall through at this key, which the dispatcher knows beforehand. Where somebody else has
/// registered a fallback for the key, as PyTorch's own test of it does, nothing is observed.
///
/// The fallthrough stays registered to the end of the process, and does nothing: PyTorch's guards
/// save and restore the keys of a thread, so a guard that is older than this object's end may
/// include the key again. So do the kernels of unmet_threads.
///
/// Only the training thread may construct and destroy it, between steps.
class WatchedOps {
 public:
  /// Registers the kernels. `device` says which waits and fallbacks exist. Sets the recorder's
  /// threadWatch(); `recorder` must outlive this.
  WatchedOps(Recorder& recorder, DeviceKind device);
  /// Removes the kernels. While another thread is watched they stay and do nothing, because PyTorch
  /// lets no kernel go that an op is on its way to.
  ~WatchedOps();
  WatchedOps(const WatchedOps&) = delete;
  WatchedOps& operator=(const WatchedOps&) = delete;

  /// Notes that an op was registered, to watch it from the next phase or module on. Any thread.
  static void noteNewOp();

  /// The number of ops that are watched now in this process, each overload counted; 0 where
  /// somebody else uses the key.
  [[nodiscard]] static std::size_t count();

 private:
  Recorder& recorder_;
};

}  // namespace highwater::probe

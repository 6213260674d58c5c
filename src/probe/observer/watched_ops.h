#pragma once

#include <cstddef>

#include "probe/observer/device_kind.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Registers kernels that observe the ops that can wait or fall back, from construction to
/// destruction: of the 3,600 of PyTorch 2.13 some 940, most of which no training calls. All other
/// ops take the way that they take without it.
///
/// The kernels are at DispatchKey::TESTING_ONLY_GenericMode, which all supported versions have, no
/// feature of PyTorch uses, and only PythonDispatcher and PreDispatch precede. Only threads whose
/// thread-local state includes the key pass it: those with a WatchedThread, the threads of autograd
/// that work for them, and any other thread from its first wait or fallback on (unmet_threads). All
/// other ops fall through at this key, which the dispatcher knows beforehand. Where somebody else
/// has registered a fallback for the key, as PyTorch's own test of it does, nothing is observed;
/// who does so later than this gets PyTorch's error.
///
/// The fallthrough stays registered to the end of the process, and does nothing: PyTorch's guards
/// save and restore the keys of a thread, so a guard that is older than this object's end may
/// include the key again. So do the kernels of unmet_threads, which only call the next one then.
///
/// Only the training thread may construct and destroy it, between steps.
class WatchedOps {
 public:
  /// Registers the kernels. `device` says which waits and fallbacks exist. Sets the recorder's
  /// threadWatch(); `recorder` must outlive this.
  WatchedOps(Recorder& recorder, DeviceKind device);
  /// Removes the kernels. While another thread is watched they stay and do nothing, because PyTorch
  /// lets no kernel go that an op is on its way to: a thread of autograd's that was met stays
  /// watched, as it never ends.
  ~WatchedOps();
  WatchedOps(const WatchedOps&) = delete;
  WatchedOps& operator=(const WatchedOps&) = delete;

  /// Has the kernels do nothing from now on, while they stay. For the child of a fork.
  static void silence() noexcept;
  /// Notes that an op was registered, to watch it from the next phase or module of the training
  /// thread on. Any thread.
  static void noteNewOp();

  /// The number of ops that are watched now in this process, each overload counted; 0 where
  /// somebody else uses the key.
  [[nodiscard]] static std::size_t count();

 private:
  Recorder& recorder_;
};

}  // namespace highwater::probe

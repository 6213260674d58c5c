#pragma once

#include "core/messages.h"

namespace highwater::process {

/// What measureWorkStart() observed. Times are in ms.
struct WorkStartMeasurement {
  WorkStart start = WorkStart::kUnknown;
  double loadMs = 0;  ///< that the queued work takes
  double restMs = 0;  ///< that a synchronize() took after the work had had time to run
  int products = 0;   ///< matrix products that were queued
  int trials = 0;
};

/// Finds out whether the MPS device starts queued work at once or only when it is committed: queues
/// work, sleeps for more than its time, and times a synchronize(). If that takes next to nothing,
/// the work had run meanwhile: eager. If it always takes most of the work's time: deferred. A busy
/// machine can hide an eager device, but nothing can make a deferred one look eager. Takes some
/// 100 ms, some 250 ms on a deferred device, and up to 200 MiB of device memory, which it gives
/// back. Throws what PyTorch throws.
[[nodiscard]] WorkStartMeasurement measureWorkStart();

/// Tells when this device starts its work, without asking it: of the simulated device by its
/// setting, of CUDA, which needs no commit. Of real MPS it is unknown.
[[nodiscard]] WorkStart knownWorkStart(const DeviceReport& device);

/// The same, but measures it on real MPS; unknown if that fails. For a process of ours: in a user's
/// script it would change the memory and the times that are to be measured.
[[nodiscard]] WorkStart findWorkStart(const DeviceReport& device);

}  // namespace highwater::process

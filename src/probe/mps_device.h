#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "probe/device_counters.h"
#include "probe/event_source.h"
#include "probe/recorder.h"

/// The device as PyTorch's own MPS interfaces show it; real and simulated alike. No torch header
/// is needed to include this.
namespace highwater::probe {

/// True where MPS hooks answer in this process. The first call fixes PyTorch's choice of hooks:
/// whatever registers its own must be loaded before.
[[nodiscard]] bool mpsAvailable();

/// The counters, through at::detail::getMPSHooks(). Precondition: mpsAvailable().
[[nodiscard]] std::unique_ptr<CounterSource> makeMpsCounters();

/// The device's events, through the same hooks. Precondition: mpsAvailable().
[[nodiscard]] std::unique_ptr<EventSource> makeMpsEvents();

/// The allocator's own peaks since their last reset, in bytes.
struct ExactPeaks {
  std::uint64_t currentBytes = 0;
  std::uint64_t reservedBytes = 0;
};
/// From at::accelerator::getDeviceStats (PyTorch 2.9 and later); nothing where it does not exist.
[[nodiscard]] std::optional<ExactPeaks> readExactPeaks();
/// Restarts them. They are the process's: only who owns the training loop may do that.
void resetExactPeaks();

/// Waits for the device and records that as an explicit synchronize.
void synchronizeDevice(Recorder& recorder);
/// Gives cached blocks back to the system.
void emptyDeviceCache();

}  // namespace highwater::probe

#pragma once

#include <cstdint>
#include <memory>

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

/// The allocator's peaks, from at::accelerator::getDeviceStats (PyTorch 2.9 and later).
[[nodiscard]] std::unique_ptr<PeakSource> makeMpsPeaks();

/// Waits for the device and records that as an explicit synchronize.
void synchronizeDevice(Recorder& recorder);
/// Gives cached blocks back to the system.
void emptyDeviceCache();

}  // namespace highwater::probe

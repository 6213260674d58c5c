#pragma once

#include <cstdint>
#include <memory>

#include "probe/readings/device_counters.h"
#include "probe/stream/event_source.h"
#include "probe/stream/recorder.h"

/// The MPS device through PyTorch's own interfaces, real or simulated. Needs no torch header.
namespace highwater::probe {

/// Returns true where PyTorch has MPS, real or simulated. The first call fixes PyTorch's choice of
/// hooks, so a library that registers hooks must be loaded before.
[[nodiscard]] bool mpsAvailable();

/// Makes a reader of the MPS memory counters, from at::detail::getMPSHooks(). Precondition:
/// mpsAvailable().
[[nodiscard]] std::unique_ptr<CounterSource> makeMpsCounters();

/// Makes a source of MPS timing events, from at::detail::getMPSHooks(). Precondition:
/// mpsAvailable().
[[nodiscard]] std::unique_ptr<EventSource> makeMpsEvents();

/// Makes a reader of the allocator's memory peaks, from at::accelerator::getDeviceStats. Before
/// PyTorch 2.9 its read() returns nullopt.
[[nodiscard]] std::unique_ptr<PeakSource> makeMpsPeaks();

/// Blocks until the MPS device is idle and, unless the probe level is off, records that wait as a
/// sync point of kind Synchronize. Throws std::exception where PyTorch does. Precondition:
/// mpsAvailable().
void synchronizeDevice(Recorder& recorder);
/// The same for a wait of Highwater's own, which is not recorded.
void waitForDevice();
/// Releases the cached blocks of PyTorch's MPS allocator to the system. Throws std::exception where
/// PyTorch does. Precondition: mpsAvailable().
void emptyDeviceCache();
/// Sets the multiple of recommended max beyond which the MPS allocator refuses a request, as
/// torch.mps.set_per_process_memory_fraction() does. Throws std::exception where PyTorch does.
/// Precondition: mpsAvailable().
void setMemoryFraction(double fraction);

}  // namespace highwater::probe

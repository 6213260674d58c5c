#pragma once

#include <memory>

#include "probe/readings/device_counters.h"
#include "probe/stream/event_source.h"

/// A CUDA device, through PyTorch's device-independent interfaces. It exists to check what the
/// probe and the findings say against a real queue.
namespace highwater::probe {

/// Returns true where this libtorch was built for CUDA, even without a device.
[[nodiscard]] bool torchHasCuda();

/// Returns true where libtorch finds a CUDA device.
[[nodiscard]] bool cudaAvailable();

/// Makes a reader of the CUDA memory counters: current allocated memory, reserved memory as driver
/// bytes, and total device memory as recommended bytes (0 before PyTorch 2.10). Its read() returns
/// nullopt before PyTorch 2.9. Precondition: cudaAvailable(). makeMpsPeaks() serves CUDA too.
[[nodiscard]] std::unique_ptr<CounterSource> makeCudaCounters();

/// Makes a source of timing events, recorded on the current stream of the calling thread.
/// Precondition: cudaAvailable().
[[nodiscard]] std::unique_ptr<EventSource> makeCudaEvents();

/// Blocks until the device has done all work of the calling thread's current stream. Precondition:
/// cudaAvailable().
void synchronizeCuda();
/// Releases the allocator's cached blocks to the device. Does nothing before PyTorch 2.9.
/// Precondition: cudaAvailable().
void emptyCudaCache();

}  // namespace highwater::probe

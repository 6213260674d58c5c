#pragma once

#include <memory>

#include "probe/device_counters.h"
#include "probe/event_source.h"

/// A CUDA device, through PyTorch's interfaces for any accelerator. It is here for one purpose: to
/// hold what the probe says of a queue against a real one and another profiler
/// (tests/bench/run accelerator). MPS is what the rest is written for.
namespace highwater::probe {

/// True where this libtorch was built for CUDA, whether there is a device or not.
[[nodiscard]] bool torchHasCuda();

/// True where it finds one.
[[nodiscard]] bool cudaAvailable();

/// Current allocated, reserved as driver's, the device's memory as recommended (PyTorch 2.10 and
/// later; before 0). Precondition: cudaAvailable(). Peaks: makeMpsPeaks(), which are any
/// accelerator's.
[[nodiscard]] std::unique_ptr<CounterSource> makeCudaCounters();

/// Events with a time, on the current stream of the thread that records. Likewise.
[[nodiscard]] std::unique_ptr<EventSource> makeCudaEvents();

/// Gives cached blocks back; waits for the device. Likewise.
void synchronizeCuda();
void emptyCudaCache();

}  // namespace highwater::probe

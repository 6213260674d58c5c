#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/messages.h"
#include "core/result.h"
#include "probe/observer/op_observer.h"
#include "probe/readings/system_readings.h"

namespace highwater::process {

/// Chooses the device that --device names and, where that is the simulated one, loads it. Call it
/// before anything asks PyTorch for its MPS hooks: PyTorch keeps the first answer. `library` is the
/// simulated device's; "": the one beside the program. Returns kUsage
/// where the device does not exist on this system or the environment sets the simulated device to a
/// value that is not allowed; kFailed where the simulated device cannot be loaded.
[[nodiscard]] Result<DeviceReport> chooseDevice(const std::string& requested,
                                                const std::string& library = {});

/// Lets a simulated device finish its work and complete the file in which it records its true
/// values. Call it in a process that ends with _Exit(). Does nothing without a simulated device.
void finishSimulatedDevice();

/// Makes a reader of the system memory of the machine that the device is in: the simulated machine
/// or this one. `device` must be the result of chooseDevice().
[[nodiscard]] std::unique_ptr<probe::SystemReader> makeSystemReader(const DeviceReport& device);

/// Returns the kind of device for the probe's OpObserver: kCuda for CUDA, else kMps.
[[nodiscard]] probe::DeviceKind kindOf(const DeviceReport& device);

/// Returns the function to call after each training step; empty for a device that is not simulated.
/// `device` must be the result of chooseDevice().
[[nodiscard]] std::function<void()> stepEndOf(const DeviceReport& device);

/// Returns the memory of the machine in bytes and, on MPS, the recommended maximum and the
/// watermark ratios of the environment. What cannot be read keeps its default. `device` must be the
/// result of chooseDevice().
[[nodiscard]] MemoryLimits readMemoryLimits(const DeviceReport& device);

}  // namespace highwater::process

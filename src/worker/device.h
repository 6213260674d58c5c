#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/messages.h"
#include "core/result.h"
#include "probe/op_observer.h"
#include "probe/system_readings.h"

namespace highwater::worker {

/// Chooses the device for --device, and loads the simulated one where it is meant: before anything
/// asks PyTorch for MPS hooks, as it keeps the first answer for ever. The report tells built,
/// available and selected apart. kUsage where the device does not exist on this system, or one of
/// the simulated device's settings in the environment is not allowed.
[[nodiscard]] Result<DeviceReport> chooseDevice(const std::string& requested);

/// Lets a simulated device end what it does and complete its ledger; for a process that does not
/// end by exit().
void finishSimulatedDevice();

/// The system that the device is in: for a simulated one the simulated machine. Precondition:
/// chooseDevice() returned `device`.
[[nodiscard]] std::unique_ptr<probe::SystemReader> makeSystemReader(const DeviceReport& device);

/// The device as the probe's observer knows it.
[[nodiscard]] probe::DeviceKind kindOf(const DeviceReport& device);

/// What a device wants to be told after each step; empty for one that is real. Likewise.
[[nodiscard]] std::function<void()> stepEndOf(const DeviceReport& device);

/// What the device and the environment say about memory.
[[nodiscard]] MemoryLimits readMemoryLimits(const DeviceReport& device);

[[nodiscard]] std::string torchVersion();

}  // namespace highwater::worker

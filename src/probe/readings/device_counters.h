#pragma once

#include <cstdint>
#include <optional>

namespace highwater::probe {

/// The three MPS memory counters, in bytes: current allocated memory, memory that the driver has
/// allocated, and the recommended maximum.
struct DeviceCounters {
  std::uint64_t currentBytes = 0;
  std::uint64_t driverBytes = 0;
  std::uint64_t recommendedBytes = 0;
};

/// Interface that reads a device's memory counters. Any thread.
class CounterSource {
 public:
  virtual ~CounterSource() = default;
  /// Returns the current counters; nullopt where the device has none, or reading them failed.
  [[nodiscard]] virtual std::optional<DeviceCounters> read() = 0;
};

/// The memory statistics of PyTorch's allocator, in bytes. The peaks count since the last
/// PeakSource::reset().
struct DevicePeaks {
  std::uint64_t peakCurrentBytes = 0;
  std::uint64_t peakReservedBytes = 0;
  std::uint64_t currentBytes = 0;
};

/// Interface that reads and resets the memory peaks of a device. The whole process shares them, so
/// only the owner of the training loop may reset them.
class PeakSource {
 public:
  virtual ~PeakSource() = default;
  /// Returns the current statistics; nullopt where PyTorch has none (before 2.9), or reading them
  /// failed.
  [[nodiscard]] virtual std::optional<DevicePeaks> read() = 0;
  /// Starts new peaks at the current values. Does nothing where PyTorch has no statistics.
  virtual void reset() = 0;
};

}  // namespace highwater::probe

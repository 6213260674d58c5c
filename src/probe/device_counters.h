#pragma once

#include <cstdint>
#include <optional>

namespace highwater::probe {

/// The three MPS counters, in bytes.
struct DeviceCounters {
  std::uint64_t currentBytes = 0;
  std::uint64_t driverBytes = 0;
  std::uint64_t recommendedBytes = 0;
};

/// Reads the counters of a device; any thread.
class CounterSource {
 public:
  virtual ~CounterSource() = default;
  /// Nothing where the device has no counters, or they cannot be read now.
  [[nodiscard]] virtual std::optional<DeviceCounters> read() = 0;
};

/// The allocator's own statistics, in bytes: peaks since their last reset.
struct DevicePeaks {
  std::uint64_t peakCurrentBytes = 0;
  std::uint64_t peakReservedBytes = 0;
  std::uint64_t currentBytes = 0;
};

/// Reads and restarts the peaks of a device. They are the process's: only who owns the training
/// loop may reset them.
class PeakSource {
 public:
  virtual ~PeakSource() = default;
  /// Nothing where PyTorch keeps no such statistics (before 2.9).
  [[nodiscard]] virtual std::optional<DevicePeaks> read() = 0;
  virtual void reset() = 0;
};

}  // namespace highwater::probe

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

}  // namespace highwater::probe

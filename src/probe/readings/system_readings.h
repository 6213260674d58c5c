#pragma once

#include <cstdint>
#include <memory>

#include "core/events_generated.h"

namespace highwater::probe {

/// The operating system's readings of this process and the machine: this process's memory, the
/// machine's available memory and used swap, GPU use and memory pressure. -1 where unknown.
struct SystemReadings {
  std::int64_t footprintBytes = -1;
  std::int64_t availableBytes = -1;
  std::int64_t swapUsedBytes = -1;
  float gpuPercent = -1;  ///< of all processes, 0..100
  events::Pressure pressure = events::Pressure::Unknown;
};

/// Reads SystemReadings. Keeps files open between readings.
/// - Linux: resident set (/proc/self/statm), MemAvailable and swap (/proc/meminfo), pressure stalls
///   (/proc/pressure/memory); no GPU.
/// - macOS: phys_footprint (TASK_VM_INFO), host_statistics64, vm.swapusage,
///   kern.memorystatus_vm_pressure_level, and IOKit's "Device Utilization %" in the accelerator's
///   PerformanceStatistics. Apple does not document that key; without it gpuPercent is unknown.
class SystemReader {
 public:
  virtual ~SystemReader() = default;
  /// Returns the current readings. Never fails: what cannot be read is unknown.
  [[nodiscard]] virtual SystemReadings read() = 0;
};
/// Makes the reader for this operating system.
[[nodiscard]] std::unique_ptr<SystemReader> makeSystemReader();

/// Converts macOS's kern.memorystatus_vm_pressure_level: 1 normal, 2 warning, 4 critical; any other
/// is Unknown.
[[nodiscard]] constexpr events::Pressure pressureOfLevel(int level) {
  switch (level) {
    case 1:
      return events::Pressure::Normal;
    case 2:
      return events::Pressure::Warning;
    case 4:
      return events::Pressure::Critical;
    default:
      return events::Pressure::Unknown;
  }
}

/// Returns the physical memory of the machine in bytes; 0 where unknown.
[[nodiscard]] std::uint64_t physicalMemoryBytes();

}  // namespace highwater::probe

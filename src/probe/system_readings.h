#pragma once

#include <cstdint>
#include <memory>

#include "core/events_generated.h"

namespace highwater::probe {

/// What the operating system says about this process and the machine; -1 where it does not.
struct SystemReadings {
  std::int64_t footprintBytes = -1;
  std::int64_t availableBytes = -1;
  std::int64_t swapUsedBytes = -1;
  float gpuPercent = -1;  ///< of all processes, 0..100
  events::Pressure pressure = events::Pressure::Unknown;
};

/// Reads them over and over. Files stay open between readings.
/// Linux: resident set (/proc/self/statm), MemAvailable and swap (/proc/meminfo), pressure stalls
/// (/proc/pressure/memory); nothing of a GPU. macOS: phys_footprint (TASK_VM_INFO),
/// host_statistics64, vm.swapusage, kern.memorystatus_vm_pressure_level, and from IOKit the
/// "Device Utilization %" of the accelerator's PerformanceStatistics, a key that Apple does not
/// document: its absence is a GPU that is not known.
class SystemReader {
 public:
  virtual ~SystemReader() = default;
  [[nodiscard]] virtual SystemReadings read() = 0;
};
[[nodiscard]] std::unique_ptr<SystemReader> makeSystemReader();

/// The level of macOS's kern.memorystatus_vm_pressure_level: 1 normal, 2 warning, 4 critical.
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

/// Physical memory of the machine, 0 where unknown.
[[nodiscard]] std::uint64_t physicalMemoryBytes();

}  // namespace highwater::probe

#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/events_generated.h"
#include "core/power_state.h"

namespace highwater::probe {

/// The operating system's readings of this process and the machine. -1 where unknown.
struct SystemReadings {
  std::int64_t footprintBytes = -1;
  std::int64_t availableBytes = -1;
  std::int64_t swapUsedBytes = -1;
  float gpuPercent = -1;  ///< of all processes, 0..100
  events::Pressure pressure = events::Pressure::Unknown;
  std::int64_t compressorBytes = -1;  ///< memory that compressed pages occupy
  /// Read from and written to swap since the machine started; a rate is a difference of two.
  std::int64_t swappedInBytes = -1, swappedOutBytes = -1;
  std::int64_t gpuBytes = -1;  ///< system memory that the GPU has in use, for all processes
  PowerState power;
};

/// Reads SystemReadings. Keeps files open between readings.
/// - Linux: resident set (/proc/self/statm), MemAvailable, swap and the memory of a zswap pool
///   (/proc/meminfo), pages swapped (pswpin and pswpout of /proc/vmstat), pressure stalls
///   (/proc/pressure/memory); no GPU.
/// - macOS: phys_footprint (TASK_VM_INFO), host_statistics64, vm.swapusage,
///   kern.memorystatus_vm_pressure_level, and "Device Utilization %" and "In use system memory" in
///   the PerformanceStatistics of IOKit's accelerator. Apple does not document these keys; without
///   one its reading is unknown.
///
/// macOS's available memory is Activity Monitor's: the machine's memory less "memory used", which
/// is free + file-backed + purgeable pages. free_count includes the speculative pages ("NB" in
/// vm_statistics64, mach/vm_statistics.h), and so does external_page_count, the file-backed ones
/// (vm_page_speculate() in xnu's osfmk/vm/vm_resident.c): they are counted once. Purgeable pages
/// belong to anonymous memory, so they are not among the file-backed. The compressor's size is
/// compressor_page_count, the pages that it occupies, not those that it holds compressed.
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

/// Returns the limit that the user has set for the memory that the GPU may wire, in bytes (macOS:
/// iogpu.wired_limit_mb); 0: the system's default applies. std::nullopt where there is no such
/// setting.
[[nodiscard]] std::optional<std::uint64_t> gpuWiredLimitBytes();

}  // namespace highwater::probe

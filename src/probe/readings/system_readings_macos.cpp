#include <CoreFoundation/CoreFoundation.h>
#include <IOKit/IOKitLib.h>
#include <mach/mach.h>
#include <sys/sysctl.h>
#include <sys/types.h>

#include "probe/readings/system_readings.h"

namespace highwater::probe {
namespace {

template <typename T>
bool readSysctl(const char* name, T& value) {
  std::size_t size = sizeof value;
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && size == sizeof value;
}

/// The process's memory as Activity Monitor shows it; -1 where unknown.
std::int64_t footprintBytes() {
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  const kern_return_t result =
      ::task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count);
  return result == KERN_SUCCESS ? static_cast<std::int64_t>(info.phys_footprint) : -1;
}

/// Memory available without swapping: free, speculative, inactive and purgeable pages.
std::int64_t availableBytes(host_t host, std::int64_t pageBytes) {
  vm_statistics64_data_t statistics{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const kern_return_t result = ::host_statistics64(
      host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&statistics), &count);
  if (result != KERN_SUCCESS) return -1;
  // free_count includes the speculative pages already.
  const std::int64_t pages =
      std::int64_t{statistics.free_count} + statistics.inactive_count + statistics.purgeable_count;
  return pages * pageBytes;
}

events::Pressure pressure() {
  int level = 0;
  const bool known = readSysctl("kern.memorystatus_vm_pressure_level", level);
  return known ? pressureOfLevel(level) : events::Pressure::Unknown;
}

struct CfRelease {
  void operator()(CFTypeRef object) const { ::CFRelease(object); }
};

/// The GPU driver's statistics. A reading copies some tens of values.
class GpuStatistics {
 public:
  GpuStatistics() : accelerator_(findAccelerator()) {}
  ~GpuStatistics() {
    if (accelerator_ != 0) ::IOObjectRelease(accelerator_);
  }
  GpuStatistics(const GpuStatistics&) = delete;
  GpuStatistics& operator=(const GpuStatistics&) = delete;

  /// 0..100, or -1 where unknown.
  [[nodiscard]] float utilizationPercent() const {
    return accelerator_ == 0 ? -1 : utilizationPercent(accelerator_);
  }

 private:
  using Object = std::unique_ptr<const void, CfRelease>;

  static float utilizationPercent(io_registry_entry_t accelerator) {
    const Object statistics(::IORegistryEntryCreateCFProperty(
        accelerator, CFSTR("PerformanceStatistics"), kCFAllocatorDefault, 0));
    if (!statistics || ::CFGetTypeID(statistics.get()) != ::CFDictionaryGetTypeID()) return -1;
    const void* number = ::CFDictionaryGetValue(static_cast<CFDictionaryRef>(statistics.get()),
                                                CFSTR("Device Utilization %"));
    if (number == nullptr || ::CFGetTypeID(number) != ::CFNumberGetTypeID()) return -1;
    double percent = -1;
    if (!::CFNumberGetValue(static_cast<CFNumberRef>(number), kCFNumberDoubleType, &percent)) {
      return -1;
    }
    return percent >= 0 && percent <= 100 ? static_cast<float>(percent) : -1;
  }

  /// The first accelerator that reports its utilization; 0 where none does.
  static io_registry_entry_t findAccelerator() {
    io_iterator_t accelerators = 0;
    // The call takes ownership of the dictionary.
    if (::IOServiceGetMatchingServices(kIOMainPortDefault, ::IOServiceMatching("IOAccelerator"),
                                       &accelerators) != KERN_SUCCESS) {
      return 0;
    }
    io_registry_entry_t accelerator = ::IOIteratorNext(accelerators);
    while (accelerator != 0 && utilizationPercent(accelerator) < 0) {
      ::IOObjectRelease(accelerator);
      accelerator = ::IOIteratorNext(accelerators);
    }
    ::IOObjectRelease(accelerators);
    return accelerator;
  }

  io_registry_entry_t accelerator_;
};

class MacSystemReader : public SystemReader {
 public:
  SystemReadings read() override {
    SystemReadings readings;
    readings.footprintBytes = footprintBytes();
    readings.availableBytes = availableBytes(host_, pageBytes_);
    xsw_usage swap{};
    if (readSysctl("vm.swapusage", swap)) {
      readings.swapUsedBytes = static_cast<std::int64_t>(swap.xsu_used);
    }
    readings.gpuPercent = gpu_.utilizationPercent();
    readings.pressure = pressure();
    return readings;
  }

 private:
  // One send right for the life of the process: mach_host_self() makes a new one at each call.
  host_t host_ = ::mach_host_self();
  std::int64_t pageBytes_ = static_cast<std::int64_t>(vm_kernel_page_size);
  GpuStatistics gpu_;
};

}  // namespace

std::unique_ptr<SystemReader> makeSystemReader() {
  return std::make_unique<MacSystemReader>();
}

std::uint64_t physicalMemoryBytes() {
  std::uint64_t bytes = 0;
  return readSysctl("hw.memsize", bytes) ? bytes : 0;
}

}  // namespace highwater::probe

#include <CoreFoundation/CoreFoundation.h>
#include <IOKit/IOKitLib.h>
#include <mach/mach.h>
#include <sys/sysctl.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>

#include "probe/readings/system_readings.h"

namespace highwater::probe {
namespace {

/// False where the value has another size: then it is another type than we know.
template <typename T>
bool readSysctl(const char* name, T& value) {
  std::size_t size = sizeof value;
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && size == sizeof value;
}

/// Reads an integer of 4 or 8 bytes: systems differ in some.
std::optional<std::int64_t> readInteger(const char* name) {
  std::array<char, sizeof(std::int64_t)> bytes{};
  std::size_t size = bytes.size();
  if (::sysctlbyname(name, bytes.data(), &size, nullptr, 0) != 0) return std::nullopt;
  if (size == sizeof(std::int32_t)) {
    std::int32_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  if (size != sizeof(std::int64_t)) return std::nullopt;
  std::int64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// The process's memory as Activity Monitor shows it; -1 where unknown.
std::int64_t footprintBytes() {
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  const kern_return_t result =
      ::task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count);
  return result == KERN_SUCCESS ? static_cast<std::int64_t>(info.phys_footprint) : -1;
}

/// Bytes of so many pages; -1 where that is more than fits, as no machine has.
std::int64_t bytesOfPages(std::uint64_t pages, std::int64_t pageBytes) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (pageBytes <= 0 || pages > kMost / static_cast<std::uint64_t>(pageBytes)) return -1;
  return static_cast<std::int64_t>(pages) * pageBytes;
}

/// Reads what the kernel's statistics of its pages tell; see SystemReader.
void readPages(host_t host, std::int64_t pageBytes, SystemReadings& readings) {
  vm_statistics64_data_t statistics{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const kern_return_t result = ::host_statistics64(
      host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&statistics), &count);
  // The kernel tells how much it has filled.
  constexpr std::size_t kNeeded = offsetof(vm_statistics64_data_t, internal_page_count);
  if (result != KERN_SUCCESS || count * sizeof(integer_t) < kNeeded) return;
  const std::uint64_t free = statistics.free_count;
  const std::uint64_t unused = free - std::min<std::uint64_t>(statistics.speculative_count, free);
  readings.availableBytes =
      bytesOfPages(unused + statistics.external_page_count + statistics.purgeable_count, pageBytes);
  readings.compressorBytes = bytesOfPages(statistics.compressor_page_count, pageBytes);
  readings.swappedInBytes = bytesOfPages(statistics.swapins, pageBytes);
  readings.swappedOutBytes = bytesOfPages(statistics.swapouts, pageBytes);
}

events::Pressure pressure() {
  const std::optional<std::int64_t> level = readInteger("kern.memorystatus_vm_pressure_level");
  const bool fits = level && *level >= 0 && *level <= std::numeric_limits<int>::max();
  return fits ? pressureOfLevel(static_cast<int>(*level)) : events::Pressure::Unknown;
}

struct CfRelease {
  void operator()(CFTypeRef object) const { ::CFRelease(object); }
};

/// What the GPU's driver tells; -1 where unknown.
struct GpuReadings {
  float percent = -1;
  std::int64_t bytes = -1;
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

  [[nodiscard]] GpuReadings read() const {
    return accelerator_ == 0 ? GpuReadings{} : readingsOf(accelerator_);
  }

 private:
  using Object = std::unique_ptr<const void, CfRelease>;

  /// A value of a dictionary of CFNumbers as type T; std::nullopt where it is none, or too large.
  template <typename T>
  static std::optional<T> numberAt(CFDictionaryRef dictionary, CFStringRef key, CFNumberType type) {
    const void* number = ::CFDictionaryGetValue(dictionary, key);
    if (number == nullptr || ::CFGetTypeID(number) != ::CFNumberGetTypeID()) return std::nullopt;
    T value{};
    // False also where the conversion loses digits.
    if (!::CFNumberGetValue(static_cast<CFNumberRef>(number), type, &value)) return std::nullopt;
    return value;
  }

  static GpuReadings readingsOf(io_registry_entry_t accelerator) {
    GpuReadings readings;
    const Object statistics(::IORegistryEntryCreateCFProperty(
        accelerator, CFSTR("PerformanceStatistics"), kCFAllocatorDefault, 0));
    if (!statistics || ::CFGetTypeID(statistics.get()) != ::CFDictionaryGetTypeID()) {
      return readings;
    }
    const auto* dictionary = static_cast<CFDictionaryRef>(statistics.get());
    const auto percent =
        numberAt<double>(dictionary, CFSTR("Device Utilization %"), kCFNumberDoubleType);
    if (percent && *percent >= 0 && *percent <= 100) {
      readings.percent = static_cast<float>(*percent);
    }
    const auto bytes =
        numberAt<std::int64_t>(dictionary, CFSTR("In use system memory"), kCFNumberSInt64Type);
    if (bytes && *bytes >= 0) readings.bytes = *bytes;
    return readings;
  }

  /// The first accelerator that reports its utilization or its memory; 0 where none does.
  static io_registry_entry_t findAccelerator() {
    io_iterator_t accelerators = 0;
    // The call takes ownership of the dictionary.
    if (::IOServiceGetMatchingServices(kIOMainPortDefault, ::IOServiceMatching("IOAccelerator"),
                                       &accelerators) != KERN_SUCCESS) {
      return 0;
    }
    const auto tellsNothing = [](io_registry_entry_t accelerator) {
      const GpuReadings readings = readingsOf(accelerator);
      return readings.percent < 0 && readings.bytes < 0;
    };
    io_registry_entry_t accelerator = ::IOIteratorNext(accelerators);
    while (accelerator != 0 && tellsNothing(accelerator)) {
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
    readPages(host_, pageBytes_, readings);
    xsw_usage swap{};
    if (readSysctl("vm.swapusage", swap)) {
      readings.swapUsedBytes = static_cast<std::int64_t>(swap.xsu_used);
    }
    const GpuReadings gpu = gpu_.read();
    readings.gpuPercent = gpu.percent;
    readings.gpuBytes = gpu.bytes;
    readings.pressure = pressure();
    readings.power = readPowerState();
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
  const std::int64_t bytes = readInteger("hw.memsize").value_or(0);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

std::optional<std::uint64_t> gpuWiredLimitBytes() {
  constexpr std::int64_t kMiBBytes = std::int64_t{1} << 20;
  const std::optional<std::int64_t> mebibytes = readInteger("iogpu.wired_limit_mb");
  if (!mebibytes || *mebibytes < 0 ||
      *mebibytes > std::numeric_limits<std::int64_t>::max() / kMiBBytes) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(*mebibytes * kMiBBytes);
}

}  // namespace highwater::probe

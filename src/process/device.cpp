#include "process/device.h"

#include <dlfcn.h>

#include <filesystem>
#include <optional>

#include "probe/readings/cuda_device.h"
#include "probe/readings/mps_device.h"
#include "process/environment.h"
#include "process/platform.h"
#include "simmps/simmps.h"

namespace highwater::process {
namespace {

constexpr bool kMpsBuilt =
#ifdef __APPLE__
    true;  // every libtorch for macOS arm64 has it
#else
    false;
#endif

// The exports of the loaded library, see simmps/simmps.h.
struct SimulatedDevice {
  decltype(&highwater_simmps_error) error = nullptr;
  decltype(&highwater_simmps_install) install = nullptr;
  decltype(&highwater_simmps_finish) finish = nullptr;
  decltype(&highwater_simmps_read_system) readSystem = nullptr;
  decltype(&highwater_simmps_end_step) endStep = nullptr;
};
SimulatedDevice gSimulated;

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

/// nullopt where the library lacks one of them.
std::optional<SimulatedDevice> findFunctions(void* library) {
  SimulatedDevice found;
  const bool hasAll = find(library, "highwater_simmps_error", found.error) &&
                      find(library, "highwater_simmps_install", found.install) &&
                      find(library, "highwater_simmps_finish", found.finish) &&
                      find(library, "highwater_simmps_read_system", found.readSystem) &&
                      find(library, "highwater_simmps_end_step", found.endStep);
  return hasAll ? std::optional(found) : std::nullopt;
}

/// Reads the simulated machine instead of the one that this process runs on.
class SimulatedSystemReader : public probe::SystemReader {
 public:
  probe::SystemReadings read() override {
    highwater_simmps_system system{};
    probe::SystemReadings readings;
    if (gSimulated.readSystem(&system) != 0) return readings;
    readings.footprintBytes = static_cast<std::int64_t>(system.footprint_bytes);
    readings.availableBytes = static_cast<std::int64_t>(system.available_bytes);
    readings.swapUsedBytes = static_cast<std::int64_t>(system.swap_used_bytes);
    readings.pressure = probe::pressureOfLevel(system.pressure_level);
    readings.compressorBytes = static_cast<std::int64_t>(system.compressor_bytes);
    readings.swappedInBytes = static_cast<std::int64_t>(system.swapped_in_bytes);
    readings.swappedOutBytes = static_cast<std::int64_t>(system.swapped_out_bytes);
    readings.gpuBytes = static_cast<std::int64_t>(system.gpu_bytes);
    readings.power = {thermalStateOf(system.thermal_state),
                      system.low_power != 0 ? events::PowerMode::Low : events::PowerMode::Normal};
    return readings;
  }
};

std::uint64_t systemMemoryBytes(const DeviceReport& device) {
  highwater_simmps_system system{};
  if (device.simulated && gSimulated.readSystem(&system) == 0) return system.system_bytes;
  return probe::physicalMemoryBytes();
}

/// Loads the simulated device. The error names the file and the reason.
Result<void> loadSimulatedDevice(const std::string& library) {
  const std::filesystem::path file = "libhighwater_simmps.so";
  const std::filesystem::path beside = programFolder() / ".." / "lib" / file;
  std::error_code error;
  const bool isBeside = std::filesystem::exists(beside, error);
  const std::string usual = isBeside ? beside.lexically_normal().string() : file.string();
  const std::string path = library.empty() ? usual : library;
  // Never unloaded: PyTorch keeps pointers into it.
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    const char* why = ::dlerror();
    return failure("the simulated device cannot be loaded: " + std::string(why ? why : path));
  }
  const auto functions = findFunctions(handle);
  if (!functions) return failure(path + " is not a simulated device of this Highwater");
  gSimulated = *functions;
  // Loading has installed it; this asks for the outcome.
  const int outcome = gSimulated.install();
  if (outcome == highwater_simmps_installed) return {};
  const std::string problem = "the simulated device refuses: " + std::string(gSimulated.error());
  return outcome == highwater_simmps_setting_refused ? usageError(problem) : failure(problem);
}

Result<DeviceReport> simulated(DeviceReport report, const std::string& reason,
                               const std::string& library) {
  if (!canSimulateMps()) {
    return usageError(
        "--device sim does not exist on macOS, where MPS hooks exist already; "
        "use mps or cpu");
  }
  // PyTorch would refuse the first use of either with "Cannot have both MPS and cuda", even without
  // a GPU.
  if (probe::torchHasCuda()) {
    return usageError(
        "this PyTorch is built for CUDA, and PyTorch allows only one accelerator in a process: MPS "
        "cannot be simulated; use a PyTorch for the CPU only, for example torch==2.13.0+cpu");
  }
  if (auto loaded = loadSimulatedDevice(library); !loaded) return loaded.error();
  if (!probe::mpsAvailable())
    return failure("the simulated device was loaded, but PyTorch does not find it");
  report.selected = "mps";
  report.simulated = true;
  report.reason = reason;
  return report;
}

std::string whyNotAvailable() {
  const std::string why = whyNoMetal();
  return why.empty() ? "this libtorch was not built with MPS or finds no Metal device" : why;
}

}  // namespace

Result<DeviceReport> chooseDevice(const std::string& requested, const std::string& library) {
  DeviceReport report;
  report.requested = requested;
  report.mpsBuilt = kMpsBuilt;
  if (requested == "sim") return simulated(report, "the simulated device was asked for", library);
  if (requested == "cpu") {
    report.mpsAvailable = kMpsBuilt && probe::mpsAvailable();
    report.selected = "cpu";
    report.reason = "the CPU was asked for";
    return report;
  }
  if (requested == "cuda") {
    if (!probe::cudaAvailable()) {
      return usageError("--device cuda: this libtorch finds no CUDA device; use --device auto");
    }
    report.selected = "cuda";
    report.reason = "CUDA was asked for";
    return report;
  }
  // Where MPS can be simulated there is no real MPS, and asking PyTorch for its hooks would keep
  // the simulated device out.
  report.mpsAvailable = !canSimulateMps() && probe::mpsAvailable();
  if (report.mpsAvailable) {
    report.selected = "mps";
    report.reason = requested == "auto" ? "MPS is available" : "MPS was asked for";
    return report;
  }
  if (requested == "mps") {
    return usageError(
        "--device mps: " + whyNotAvailable() +
        (canSimulateMps() ? "; use --device sim for the simulated device" : "; use --device cpu"));
  }
  if (canSimulateMps())
    return simulated(report, whyNotAvailable() + ", so MPS is simulated", library);
  report.selected = "cpu";
  report.reason = whyNotAvailable() + ", so the CPU is used";
  return report;
}

void finishSimulatedDevice() {
  if (gSimulated.finish) gSimulated.finish();
}

std::unique_ptr<probe::SystemReader> makeSystemReader(const DeviceReport& device) {
  if (device.simulated) return std::make_unique<SimulatedSystemReader>();
  return probe::makeSystemReader();
}

probe::DeviceKind kindOf(const DeviceReport& device) {
  return device.selected == "cuda" ? probe::DeviceKind::kCuda : probe::DeviceKind::kMps;
}

std::function<void()> stepEndOf(const DeviceReport& device) {
  return device.simulated ? gSimulated.endStep : nullptr;
}

MemoryLimits readMemoryLimits(const DeviceReport& device) {
  MemoryLimits limits;
  limits.systemBytes = systemMemoryBytes(device);
  // The simulated machine has no such setting.
  if (!device.simulated) limits.gpuWiredLimitBytes = probe::gpuWiredLimitBytes();
  if (device.selected != "mps") return limits;
  const WatermarkRatios ratios = watermarkRatios();
  limits.lowWatermarkRatio = ratios.low;
  limits.highWatermarkRatio = ratios.high;
  if (const auto counters = probe::makeMpsCounters()->read()) {
    limits.recommendedBytes = counters->recommendedBytes;
  }
  return limits;
}

}  // namespace highwater::process

#include "worker/device.h"

#include <dlfcn.h>
#include <torch/version.h>

#include <filesystem>

#include "probe/mps_device.h"
#include "probe/system_readings.h"
#include "worker/environment.h"
#include "worker/platform.h"

namespace highwater::worker {
namespace {

constexpr int kSettingRefused = 2;  // of highwater_simmps_install()

constexpr bool kMpsBuilt =
#ifdef __APPLE__
    true;  // every libtorch for macOS arm64 has it
#else
    false;
#endif

// highwater_simmps_finish() of the library, once it is loaded.
void (*gFinish)() = nullptr;

/// Loads the simulated device. An error says which file, and why not.
Result<void> loadSimulatedDevice() {
  const std::filesystem::path file = "libhighwater_simmps.so";
  const std::filesystem::path beside = programFolder() / ".." / "lib" / file;
  std::error_code error;
  const bool isBeside = std::filesystem::exists(beside, error);
  const std::string path = isBeside ? beside.lexically_normal().string() : file.string();
  // Never unloaded: PyTorch keeps pointers into it.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* why = ::dlerror();
    return failure("the simulated device cannot be loaded: " + std::string(why ? why : path));
  }
  using ErrorFunction = const char* (*)();
  const auto ask = reinterpret_cast<ErrorFunction>(::dlsym(library, "highwater_simmps_error"));
  const auto install = reinterpret_cast<int (*)()>(::dlsym(library, "highwater_simmps_install"));
  gFinish = reinterpret_cast<void (*)()>(::dlsym(library, "highwater_simmps_finish"));
  if (!ask || !install || !gFinish) {
    gFinish = nullptr;
    return failure(path + " is not a simulated device of this Highwater");
  }
  // It has installed itself; this asks how that went.
  const int outcome = install();
  if (outcome == 0) return {};
  const std::string problem = "the simulated device refuses: " + std::string(ask());
  return outcome == kSettingRefused ? usageError(problem) : failure(problem);
}

Result<DeviceReport> simulated(DeviceReport report, const std::string& reason) {
  if (!canSimulateMps()) {
    return usageError(
        "--device sim does not exist on macOS, where MPS hooks exist already; "
        "use mps or cpu");
  }
  if (auto loaded = loadSimulatedDevice(); !loaded) return loaded.error();
  if (!probe::mpsAvailable()) return failure("the simulated device loaded, but does not answer");
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

Result<DeviceReport> chooseDevice(const std::string& requested) {
  DeviceReport report;
  report.requested = requested;
  report.mpsBuilt = kMpsBuilt;
  if (requested == "sim") return simulated(report, "the simulated device was asked for");
  if (requested == "cpu") {
    report.mpsAvailable = kMpsBuilt && probe::mpsAvailable();
    report.selected = "cpu";
    report.reason = "the CPU was asked for";
    return report;
  }
  // Where a device can be simulated there is no real one, and asking for hooks would keep the
  // simulated one out.
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
  if (canSimulateMps()) return simulated(report, whyNotAvailable() + ", so MPS is simulated");
  report.selected = "cpu";
  report.reason = whyNotAvailable() + ", so the CPU is used";
  return report;
}

void finishSimulatedDevice() {
  if (gFinish) gFinish();
}

MemoryLimits readMemoryLimits(const DeviceReport& device) {
  MemoryLimits limits;
  limits.systemBytes = probe::physicalMemoryBytes();
  if (device.selected != "mps") return limits;
  const WatermarkRatios ratios = watermarkRatios();
  limits.lowWatermarkRatio = ratios.low;
  limits.highWatermarkRatio = ratios.high;
  if (const auto counters = probe::makeMpsCounters()->read()) {
    limits.recommendedBytes = counters->recommendedBytes;
  }
  return limits;
}

std::string torchVersion() {
  return TORCH_VERSION;
}

}  // namespace highwater::worker

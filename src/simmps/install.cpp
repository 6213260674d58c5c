#include <dlfcn.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "core/version.h"
#include "simmps/device/device_install.h"
#include "simmps/running_torch.h"
#include "simmps/simmps.h"
#include "simmps/torch_version.h"

// This library links no libtorch, so any process can load it. It checks the libtorch in the
// process, and only then opens the device library beside it, which needs exactly the libtorch that
// it was built for.
namespace highwater::simmps {
namespace {

std::filesystem::path deviceLibrary() {
  Dl_info own{};
  // An internal function: with two copies of the library in a process, an exported one would
  // resolve to the first copy's.
  ::dladdr(reinterpret_cast<const void*>(&deviceLibrary), &own);
  return std::filesystem::canonical(own.dli_fname).parent_path() / kDeviceLibraryName;
}

/// Result of the installation; `error` is empty on success.
struct Outcome {
  std::string error;
  bool isUsage = false;            ///< a setting in the environment is invalid
  DeviceInstallation device = {};  ///< valid on success only
};

Outcome install() {
  std::string obstacle = versionObstacle(findRunningTorch(), HIGHWATER_TORCH_VERSION);
  if (!obstacle.empty()) return {obstacle};
  const std::filesystem::path file = deviceLibrary();
  // Never closed: PyTorch keeps pointers into it.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return {"the simulated mps device cannot be loaded: " + std::string(::dlerror())};
  const auto installDevice =
      reinterpret_cast<InstallDevice>(::dlsym(library, kInstallDeviceSymbol));
  if (!installDevice) return {file.string() + " is not the simulated mps device of Highwater"};
  const DeviceInstallation& done = *installDevice();
  return {done.error ? done.error : "", done.isUsage, done};
}

/// Installs at the first call; returns the result.
const Outcome& outcome() {
  static const Outcome result = [] {
    try {
      return install();
    } catch (const std::exception& failure) {
      return Outcome{"the simulated mps device could not be loaded: " +
                     std::string(failure.what())};
    }
  }();
  return result;
}

int installOnLoad() {
  const std::string& error = outcome().error;
  if (error.empty()) return 0;
  // Python programs do not call highwater_simmps_error().
  std::fprintf(stderr, "highwater: no simulated mps device: %s\n", error.c_str());
  return 1;
}

// torch.ops.load_library() and dlopen() call no function, so loading must install.
[[maybe_unused]] const int kInstalledOnLoad = installOnLoad();

}  // namespace
}  // namespace highwater::simmps

extern "C" {

int highwater_simmps_install() {
  const auto& result = highwater::simmps::outcome();
  if (result.error.empty()) return 0;
  return result.isUsage ? highwater_simmps_setting_refused : highwater_simmps_failed;
}

const char* highwater_simmps_error() {
  const std::string& error = highwater::simmps::outcome().error;
  return error.empty() ? nullptr : error.c_str();
}

void highwater_simmps_finish() {
  const auto& result = highwater::simmps::outcome();
  if (result.error.empty()) result.device.finish();
}

int highwater_simmps_read_system(highwater_simmps_system* readings) {
  const auto& result = highwater::simmps::outcome();
  if (!result.error.empty()) return 1;
  result.device.readSystem(readings);
  return 0;
}

void highwater_simmps_end_step() {
  const auto& result = highwater::simmps::outcome();
  if (result.error.empty()) result.device.endStep();
}

const char* highwater_simmps_version() {
  static const std::string version = std::string("highwater-simmps ") + highwater::kVersion +
                                     " for libtorch " HIGHWATER_TORCH_VERSION
                                     ", ops of " HIGHWATER_OP_TABLE;
  return version.c_str();
}
}

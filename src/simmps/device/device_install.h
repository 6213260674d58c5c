#pragma once

#include "simmps/simmps.h"

// Interface between the two libraries: libhighwater_simmps.so opens the device's library once it
// knows that the process has the libtorch that the device was compiled for.
namespace highwater::simmps {

/// File name of the library that holds the device.
inline constexpr char kDeviceLibraryName[] = "libhighwater_simmps_device.so";
/// Name of the InstallDevice function in that library, for dlsym.
inline constexpr char kInstallDeviceSymbol[] = "highwater_simmps_install_device";

/// Result of installing the device in PyTorch, and the functions that control it. Their pointers
/// are null if `error` is not.
struct DeviceInstallation {
  const char* error = nullptr;  ///< why there is no device; nullptr on success
  bool isUsage = false;         ///< a setting in the environment is invalid
  void (*finish)() = nullptr;   ///< finishDevice()
  void (*readSystem)(highwater_simmps_system*) = nullptr;  ///< see simmps.h
  void (*endStep)() = nullptr;
};

/// Type of highwater_simmps_install_device(), for its address from dlsym.
using InstallDevice = const DeviceInstallation* (*)();

}  // namespace highwater::simmps

/// Installs the device in PyTorch at the first call; later calls return the same result. Never
/// returns null; DeviceInstallation::error tells why there is no device.
extern "C" __attribute__((visibility("default"))) const highwater::simmps::DeviceInstallation*
highwater_simmps_install_device();

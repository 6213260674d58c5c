#pragma once

#include "simmps/simmps.h"

// Interface between the two libraries: libhighwater_simmps.so opens the device's library once it
// knows that the process has the libtorch that the device was compiled for.
namespace highwater::simmps {

/// File name of the library that holds the device.
inline constexpr char kDeviceLibraryName[] = "libhighwater_simmps_device.so";
/// Name of the InstallDevice function in that library, for dlsym.
inline constexpr char kInstallDeviceSymbol[] = "highwater_simmps_install_device";

/// Result of registering the device with PyTorch, and the functions that control it. Their pointers
/// are null if `error` is not.
struct DeviceInstallation {
  const char* error = nullptr;  ///< why nothing was registered; nullptr on success
  bool isUsage = false;         ///< a setting in the environment is invalid
  void (*finish)() = nullptr;   ///< finishDevice()
  void (*readSystem)(highwater_simmps_system*) = nullptr;  ///< see simmps.h
  void (*endStep)() = nullptr;
};

/// Type of highwater_simmps_install_device(), for its address from dlsym.
using InstallDevice = const DeviceInstallation* (*)();

}  // namespace highwater::simmps

/// Registers the device with PyTorch at the first call; later calls return the same result. Never
/// returns null; DeviceInstallation::error tells why nothing was registered.
extern "C" __attribute__((visibility("default"))) const highwater::simmps::DeviceInstallation*
highwater_simmps_install_device();

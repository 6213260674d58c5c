#pragma once

#include "simmps/simmps.h"

// Between the two libraries: libhighwater_simmps.so opens the device's, once it knows that the
// libtorch in the process is the one that the device was compiled against.
namespace highwater::simmps {

inline constexpr char kDeviceLibraryName[] = "libhighwater_simmps_device.so";
inline constexpr char kInstallDeviceSymbol[] = "highwater_simmps_install_device";

/// How registering the device with PyTorch went.
struct DeviceInstallation {
  const char* error = nullptr;  ///< why nothing was registered; nullptr where the device is there
  bool isUsage = false;         ///< a setting in the environment is to blame
  void (*finish)() = nullptr;   ///< runs what is pending, ends the device, completes the ledger
  void (*readSystem)(highwater_simmps_system*) = nullptr;  ///< see simmps.h
  void (*endStep)() = nullptr;
};

/// Registers the device, once; later calls return the same.
using InstallDevice = const DeviceInstallation* (*)();

}  // namespace highwater::simmps

extern "C" __attribute__((visibility("default"))) const highwater::simmps::DeviceInstallation*
highwater_simmps_install_device();

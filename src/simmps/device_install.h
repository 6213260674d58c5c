#pragma once

// Between the two libraries: libhighwater_simmps.so opens the device's, once it knows that the
// libtorch in the process is the one that the device was compiled against.
namespace highwater::simmps {

inline constexpr char kDeviceLibraryName[] = "libhighwater_simmps_device.so";
inline constexpr char kInstallDeviceSymbol[] = "highwater_simmps_install_device";

/// How that went; `error` is null where the device is there, else one line for the user.
struct Installation {
  const char* error;
  bool isUsage;  ///< a setting in the environment is to blame
};

/// Registers the device with PyTorch, once.
using InstallDevice = Installation (*)();

}  // namespace highwater::simmps

extern "C" __attribute__((visibility("default"))) highwater::simmps::Installation
highwater_simmps_install_device();

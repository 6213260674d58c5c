#pragma once

// Between the two libraries: libhighwater_simmps.so opens the device's, once it knows that the
// libtorch in the process is the one that the device was compiled against.
namespace highwater::simmps {

inline constexpr char kDeviceLibraryName[] = "libhighwater_simmps_device.so";
inline constexpr char kInstallDeviceSymbol[] = "highwater_simmps_install_device";

/// Registers the device with PyTorch, once; nullptr, or why nothing was registered.
using InstallDevice = const char* (*)();

}  // namespace highwater::simmps

extern "C" __attribute__((visibility("default"))) const char* highwater_simmps_install_device();

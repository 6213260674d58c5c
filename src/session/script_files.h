#pragma once

#include <QString>

/// What Highwater brings for the user's own script, installed or in the build folder.
namespace highwater::session {

/// The folder of the Python package `highwater`.
[[nodiscard]] QString scriptPackageFolder();
/// The folder of the probe's library for a Python process, and of what it is built from for another
/// PyTorch.
[[nodiscard]] QString scriptNativeFolder();
/// The library of the simulated device, which is not there on macOS.
[[nodiscard]] QString simulatedDeviceLibrary();

}  // namespace highwater::session

#pragma once

#include <QString>

namespace highwater::session {

/// The folder of Highwater's libraries, beside that of its programs.
[[nodiscard]] QString librariesFolder();
/// The folder from which Python imports the package `highwater`: installed, or in the sources.
[[nodiscard]] QString pythonPackageFolder();
/// The folder of the library for scripts, and of what it is built from for another PyTorch.
[[nodiscard]] QString scriptLibraryFolder();
/// The library of the simulated device, which is not there on macOS.
[[nodiscard]] QString simulatedDeviceLibrary();

/// The environment variable that names scriptLibraryFolder() to the Python package.
inline constexpr const char* kScriptLibraryVariable = "HIGHWATER_NATIVE";

}  // namespace highwater::session

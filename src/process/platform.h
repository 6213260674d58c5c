#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace highwater::process {

/// Returns the operating system and processor, such as "Linux x86_64" or "macOS 14.5 arm64".
[[nodiscard]] std::string platformName();

/// Returns the folder of the running program; empty where the system does not tell.
[[nodiscard]] std::filesystem::path programFolder();

/// Returns the paths of the shared libraries loaded in this process. On Linux symbolic links are
/// resolved.
[[nodiscard]] std::vector<std::string> loadedLibraries();

/// Returns why this machine cannot have MPS (operating system, its version, architecture), as a
/// clause that can follow "because". Empty where nothing rules MPS out.
[[nodiscard]] std::string whyNoMetal();

/// Replaces this process with a fresh start of the same program and the arguments `argv`. Serves
/// libraries that read the environment while they are loaded. Returns only where that fails.
void restart(char** argv);

/// Restarts the program with OMP_WAIT_POLICY=PASSIVE where the variable is unset and OpenMP is
/// GNU's, which reads it while it is loaded. By default its threads spin at each barrier; where
/// other programs need the cores too, a step then takes ten times as long. Returns where a restart
/// is not needed or fails; a failure only costs time.
void restartWithPassiveOpenMp(char** argv);

/// Returns whether a simulated device can be loaded here. Not on macOS, where a second registration
/// of MPS hooks would end the process.
[[nodiscard]] bool canSimulateMps();

}  // namespace highwater::process

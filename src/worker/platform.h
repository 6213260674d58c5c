#pragma once

#include <filesystem>
#include <string>

namespace highwater::worker {

/// "Linux x86_64", "macOS 14.5 arm64".
[[nodiscard]] std::string platformName();

/// The folder of the running program.
[[nodiscard]] std::filesystem::path programFolder();

/// What speaks against MPS on this machine, in words that follow "because": the operating system,
/// the architecture, its version. Empty where nothing does.
[[nodiscard]] std::string whyNoMetal();

/// Starts this program anew, for libraries that read the environment while they are loaded. Returns
/// where that failed.
void restart(char** argv);

/// Starts this program anew with OMP_WAIT_POLICY=PASSIVE, where the variable is unset and OpenMP is
/// GNU's: it reads the variable while it is loaded. Its threads would otherwise spin at each
/// barrier; where other programs want the cores too, a step then takes ten times as long. Returns
/// where there is nothing to do, or where that failed (which only costs time).
void restartWithPassiveOpenMp(char** argv);

/// A simulated device can be loaded here. Not on macOS: a second registration of MPS hooks would
/// end the process.
[[nodiscard]] bool canSimulateMps();

}  // namespace highwater::worker

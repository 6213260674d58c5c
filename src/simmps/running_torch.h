#pragma once

#include <optional>
#include <string>

namespace highwater::simmps {

/// Path and version of the libtorch that is loaded in this process.
struct RunningTorch {
  std::string library;  ///< path of its libtorch_cpu
  std::string version;  ///< as it names itself: 2.13.0+cpu; empty if unknown
};

/// Finds the loaded libtorch without using its symbols: the list of loaded objects gives its path;
/// version.py (Python packages) or build-version (libtorch archives) in the folder above gives its
/// version. Calls at::show_config() only if neither file exists, as in a distribution's package.
/// Returns nullopt if no libtorch is loaded.
std::optional<RunningTorch> findRunningTorch();

/// Checks that a library compiled for `builtFor` (MAJOR.MINOR.PATCH) fits the running libtorch;
/// returns the reason if not, else an empty string. 2.13.0a0+git... (a nightly) and 2.13.0+cpu both
/// count as 2.13.0.
std::string versionObstacle(const std::optional<RunningTorch>& running,
                            const std::string& builtFor);

}  // namespace highwater::simmps

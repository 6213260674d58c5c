#pragma once

#include <optional>
#include <string>

namespace highwater::simmps {

/// The libtorch that is loaded in this process.
struct RunningTorch {
  std::string library;  ///< file name of its libtorch_cpu
  std::string version;  ///< as it names itself, 2.13.0+cpu; empty where that cannot be told
};

/// Finds it without a symbol of it: the loaded objects name the file, and version.py (Python's
/// packages) or build-version (libtorch's archives) in the folder above says the version. Only
/// where neither file is there, as in a distribution's package, at::show_config() is asked.
/// nullopt where no libtorch is loaded.
std::optional<RunningTorch> findRunningTorch();

/// Empty, or why a library compiled against `builtFor` (MAJOR.MINOR.PATCH) must not be loaded into
/// that libtorch. A nightly's 2.13.0a0+git... and a build's 2.13.0+cpu are both 2.13.0.
std::string versionObstacle(const std::optional<RunningTorch>& running,
                            const std::string& builtFor);

}  // namespace highwater::simmps

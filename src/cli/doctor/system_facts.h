#pragma once

#include <QString>
#include <optional>
#include <vector>

namespace highwater::cli {

/// A program needed to build Highwater. `path` is empty where it was not found.
struct Tool {
  QString name;
  QString path;
  QString version;  ///< the first line that --version prints
};

/// The operating system of this machine, and the programs that build Highwater.
struct SystemFacts {
  QString name;          ///< "Debian GNU/Linux 12 (bookworm)", "macOS 14.5"
  QString kernel;        ///< "linux 6.1.0"
  QString architecture;  ///< "x86_64", "arm64"
  bool isMac = false;
  /// On a Mac: whether macOS is at least kMinimumMacOs.
  std::optional<bool> newEnough;
  std::vector<Tool> tools;
};

/// The oldest macOS that PyTorch's MPS backend and Highwater support.
inline constexpr int kMinimumMacOs = 14;

/// Finds out the operating system and the installed tools. Runs each tool to ask for its version,
/// for 5 s at most.
[[nodiscard]] SystemFacts readSystemFacts();

/// What an environment variable does; empty for a variable that is not in environmentNames() or
/// kSimKnobs.
[[nodiscard]] QString environmentMeaning(const QString& name);
/// The environment variables that influence a run, set or not: those of PyTorch, OpenMP and
/// Highwater, without those that only the simulated device reads.
[[nodiscard]] std::vector<QString> environmentNames();

}  // namespace highwater::cli

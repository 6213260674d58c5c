#pragma once

#include <QString>
#include <optional>
#include <vector>

namespace highwater::app {

/// A program that building or running may need. `path` is empty where it was not found.
struct Tool {
  QString name;
  QString path;
  QString version;  ///< the first line of what --version prints
};

/// What this machine is, as far as it matters to Highwater.
struct SystemFacts {
  QString name;          ///< "Debian GNU/Linux 12 (bookworm)", "macOS 14.5"
  QString kernel;        ///< "linux 6.1.0"
  QString architecture;  ///< "x86_64", "arm64"
  bool isMac = false;
  /// Only on a Mac: whether the system is new enough for what we use of MPS.
  std::optional<bool> newEnough;
  std::vector<Tool> tools;
};

/// The oldest macOS that PyTorch's MPS backend and this program are for.
inline constexpr int kMinimumMacOs = 14;

/// Looks at the machine; asks each tool for its version, for 5 s at most.
[[nodiscard]] SystemFacts readSystemFacts();

/// What an environment variable does, empty where it is not one of those that matter.
[[nodiscard]] QString environmentMeaning(const QString& name);
/// The variables that matter, ours and PyTorch's.
[[nodiscard]] std::vector<QString> environmentNames();

}  // namespace highwater::app

#pragma once

#include <QString>
#include <string_view>
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
  int macOs = 0;  ///< on a Mac: the major version of macOS
  std::vector<Tool> tools;
};

/// The major version of the oldest macOS on which a version of PyTorch ("2.13.0") has MPS and
/// Highwater works. PyTorch's wheels may be tagged for an older one.
[[nodiscard]] int minimumMacOs(std::string_view torchVersion);

/// Finds out the operating system and the installed tools. Runs each tool to ask for its version,
/// for 5 s at most. On a Mac without the command line tools, those in /usr/bin are stubs that open
/// a dialog: they count as not found.
[[nodiscard]] SystemFacts readSystemFacts();

/// What an environment variable does; empty for a variable that is not in environmentNames() or
/// kSimKnobs.
[[nodiscard]] QString environmentMeaning(const QString& name);
/// What an unset variable of kSimKnobs means, in words; empty for any other.
[[nodiscard]] QString environmentDefault(const QString& name);
/// The environment variables that influence a run, set or not: those of PyTorch, OpenMP and
/// Highwater, without those that only the simulated device reads.
[[nodiscard]] std::vector<QString> environmentNames();

}  // namespace highwater::cli

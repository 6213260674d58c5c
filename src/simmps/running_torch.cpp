#include "simmps/running_torch.h"

#include <dlfcn.h>
#include <link.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/torch_build.h"

namespace highwater::simmps {
namespace {

namespace fs = std::filesystem;

int findLibrary(dl_phdr_info* info, std::size_t, void* found) {
  const std::string name = fs::path(info->dlpi_name).filename().string();
  if (name.rfind("libtorch_cpu.", 0) != 0) return 0;
  *static_cast<std::string*>(found) = info->dlpi_name;
  return 1;
}

/// Reads the version from `__version__ = '2.13.0+cpu'`, or from the first line if `key` is empty.
std::string versionIn(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const auto from = line.find_first_of("0123456789", key.size());
    if (from == std::string::npos) return {};
    return line.substr(from, line.find_first_of("'\" \r", from) - from);
  }
  return {};
}

std::string versionBeside(const std::string& library) {
  const fs::path root = fs::path(library).parent_path().parent_path();
  std::string version = versionIn(root / "version.py", "__version__");
  if (version.empty()) version = versionIn(root / "build-version", "");
  return version;
}

/// Asks at::show_config(). The mangled name is that of std::string's current ABI; a libtorch with
/// the old ABI has no such symbol.
std::string versionFromSettings(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return {};
  const auto showConfig =
      reinterpret_cast<std::string (*)()>(::dlsym(handle, "_ZN2at11show_configB5cxx11Ev"));
  const std::string settings = showConfig ? showConfig() : std::string();
  ::dlclose(handle);
  return buildSetting(settings, "TORCH_VERSION");
}

}  // namespace

std::optional<RunningTorch> findRunningTorch() {
  RunningTorch torch;
  ::dl_iterate_phdr(&findLibrary, &torch.library);
  if (torch.library.empty()) return std::nullopt;
  torch.version = versionBeside(torch.library);
  if (torch.version.empty()) {
    try {
      torch.version = versionFromSettings(torch.library);
    } catch (const std::exception&) {
      torch.version.clear();
    }
  }
  return torch;
}

std::string versionObstacle(const std::optional<RunningTorch>& running,
                            const std::string& builtFor) {
  if (!running) {
    return "no libtorch is loaded in this process: load it first (in Python, import torch before "
           "torch.ops.load_library)";
  }
  const std::string from = " (" + running->library + ")";
  if (running->version.empty()) {
    return "the simulated mps device was built for libtorch " + builtFor +
           ", and the version of the libtorch in this process" + from + " is unknown";
  }
  if (isBuildOf(running->version, builtFor)) return {};
  return "the simulated mps device was built for libtorch " + builtFor +
         " and cannot run in libtorch " + running->version + from + "; run this with PyTorch " +
         builtFor + ", or build Highwater for the other one (Torch_DIR=... packaging/setup)";
}

}  // namespace highwater::simmps

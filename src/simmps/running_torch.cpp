#include "simmps/running_torch.h"

#include <dlfcn.h>
#include <link.h>

#include <cctype>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace highwater::simmps {
namespace {

namespace fs = std::filesystem;

int findLibrary(dl_phdr_info* info, std::size_t, void* found) {
  const std::string name = fs::path(info->dlpi_name).filename().string();
  if (name.rfind("libtorch_cpu.", 0) != 0) return 0;
  *static_cast<std::string*>(found) = info->dlpi_name;
  return 1;
}

/// From `__version__ = '2.13.0+cpu'`, or the first line of a file that holds nothing else.
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

/// The library's own word. The name is that of std::string's current ABI, so a libtorch made with
/// the old one has no such symbol.
std::string versionFromSettings(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return {};
  const auto showConfig =
      reinterpret_cast<std::string (*)()>(::dlsym(handle, "_ZN2at11show_configB5cxx11Ev"));
  const std::string settings = showConfig ? showConfig() : std::string();
  ::dlclose(handle);
  constexpr std::string_view kKey = "TORCH_VERSION=";
  const auto start = settings.find(kKey);
  if (start == std::string::npos) return {};
  const auto from = start + kKey.size();
  return settings.substr(from, settings.find_first_of(", \n", from) - from);
}

bool isRelease(const std::string& running, const std::string& builtFor) {
  if (running.rfind(builtFor, 0) != 0) return false;
  if (running.size() == builtFor.size()) return true;
  const char next = running[builtFor.size()];
  return next != '.' && std::isdigit(static_cast<unsigned char>(next)) == 0;
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
           ", and the version of the libtorch in this process" + from + " cannot be told";
  }
  if (isRelease(running->version, builtFor)) return {};
  return "the simulated mps device was built for libtorch " + builtFor +
         " and cannot run in libtorch " + running->version + from +
         "; build Highwater against that libtorch (Torch_DIR=... packaging/setup)";
}

}  // namespace highwater::simmps

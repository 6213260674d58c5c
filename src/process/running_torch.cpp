#include "process/running_torch.h"

#include <ATen/Version.h>
#include <torch/version.h>

#include <algorithm>

#include "core/torch_build.h"
#include "process/platform.h"

namespace highwater::process {

std::string torchVersion() {
  const std::string version = buildSetting(at::show_config(), "TORCH_VERSION");
  return version.empty() ? TORCH_VERSION : version;
}

Result<void> checkTorchVersion() {
  const std::string builtFor = std::to_string(TORCH_VERSION_MAJOR) + '.' +
                               std::to_string(TORCH_VERSION_MINOR) + '.' +
                               std::to_string(TORCH_VERSION_PATCH);
  const std::string running = torchVersion();
  if (isBuildOf(running, builtFor)) return {};
  const auto libraries = loadedLibraries();
  const auto library = std::find_if(
      libraries.begin(), libraries.end(),
      [](const std::string& path) { return path.find("/libtorch_cpu.") != std::string::npos; });
#ifdef __APPLE__
  constexpr bool kIsMac = true;
#else
  constexpr bool kIsMac = false;
#endif
  return Error{ErrorCode::kVersionMismatch,
               otherTorchText(builtFor, running,
                              library == libraries.end() ? std::string() : *library, kIsMac)};
}

std::string torchBlas() {
  return blasName(loadedLibraries(), at::show_config());
}

}  // namespace highwater::process

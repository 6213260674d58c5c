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
  const std::string from = library == libraries.end() ? "" : " (" + *library + ")";
  return Error{ErrorCode::kVersionMismatch,
               "this worker was built for PyTorch " + builtFor + " and cannot run with PyTorch " +
                   running + from +
                   "; remove that one from LD_LIBRARY_PATH, or build Highwater for it "
                   "(Torch_DIR=... packaging/setup)"};
}

std::string torchBlas() {
  return blasName(loadedLibraries(), at::show_config());
}

}  // namespace highwater::process

#include "simmps/device_install.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

#include <cstdlib>
#include <string>
#include <variant>

#include "simmps/allocator.h"
#include "simmps/device.h"
#include "simmps/hooks.h"
#include "simmps/registrations.h"
#include "simmps/torch_version.h"

namespace highwater::simmps {
namespace {

void registerKernels() {
  // Kept for the life of the process: a Library's end takes its kernels away.
  static torch::Library anyNamespace(torch::Library::IMPL, "_", c10::DispatchKey::MPS, __FILE__,
                                     __LINE__);
  anyNamespace.fallback(torch::CppFunction::makeFromBoxedFunction<&runOnDevice>());
  static torch::Library mps(torch::Library::IMPL, "aten", c10::DispatchKey::MPS, __FILE__,
                            __LINE__);
  registerViewKernels(mps);
  registerCopyKernels(mps);
  registerComposedKernels(mps);
  registerAlwaysFallingBack(mps);
  static torch::Library autograd(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMPS,
                                 __FILE__, __LINE__);
  registerAutogradKernels(autograd);
}

std::string install() {
  auto settings =
      readSettings([](const char* name) { return std::getenv(name); }, machineMemoryBytes());
  if (const auto* error = std::get_if<std::string>(&settings)) return *error;
  if (mpsHooksExist()) {
    return "MPS hooks exist already in this process: the simulated mps device refuses to take the "
           "place of a real one";
  }
  const LedgerOrigin origin{"highwater-simmps " HIGHWATER_VERSION, HIGHWATER_TORCH_VERSION};
  if (std::string problem = createDevice(std::get<Settings>(settings), origin); !problem.empty()) {
    return problem;
  }
  if (!registerHooks()) {
    return "this process has asked PyTorch for MPS before the simulated mps device was loaded; "
           "load it first";
  }
  c10::SetAllocator(c10::DeviceType::MPS, deviceAllocator(), /*priority=*/10);
  registerGuard();
  registerKernels();
  return {};
}

}  // namespace
}  // namespace highwater::simmps

const char* highwater_simmps_install_device() {
  static const std::string error = [] {
    try {
      return highwater::simmps::install();
    } catch (const std::exception& failure) {
      return "the simulated mps device could not be registered: " + std::string(failure.what());
    }
  }();
  return error.empty() ? nullptr : error.c_str();
}

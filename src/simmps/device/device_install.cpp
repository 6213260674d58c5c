#include "simmps/device/device_install.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>
#include <torch/version.h>

#include <string>
#include <variant>

#include "core/version.h"
#include "simmps/device/allocator.h"
#include "simmps/device/device.h"
#include "simmps/device/hooks.h"
#include "simmps/device/registrations.h"
#include "simmps/device/system_interface.h"
#include "simmps/torch_version.h"

namespace highwater::simmps {
namespace {

void registerKernels() {
  // Static: destroying a torch::Library removes its kernels.
  static torch::Library anyNamespace(torch::Library::IMPL, "_", c10::DispatchKey::MPS, __FILE__,
                                     __LINE__);
  anyNamespace.fallback(torch::CppFunction::makeFromBoxedFunction<&runOnDevice>());
  static torch::Library mps(torch::Library::IMPL, "aten", c10::DispatchKey::MPS, __FILE__,
                            __LINE__);
  registerViewKernels(mps);
  registerCopyKernels(mps);
  registerComposedKernels(mps);
  registerConvolutionKernels(mps);
  registerRecurrentKernels(mps);
  registerStagedKernels(mps);
  // The dispatcher's table names the file of each kernel. These get a Mac's file name; ops that
  // were removed on request name the setting.
  static torch::Library fallback(torch::Library::IMPL, "aten", c10::DispatchKey::MPS,
                                 "simulated MPSFallback.mm", 0);
  registerAlwaysFallingBack(fallback);
  static torch::Library missing(torch::Library::IMPL, "aten", c10::DispatchKey::MPS,
                                "HIGHWATER_SIM_MISSING_OPS, in place of a [backend fallback]", 0);
  registerMissingOps(missing, deviceSettings().missingOps);
  registerKernelsOfTable(mps);
  static torch::Library autograd(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMPS,
                                 __FILE__, __LINE__);
  registerAutogradKernels(autograd);
  registerRecurrentKernels(autograd);
}

struct Outcome {
  std::string error;
  bool isUsage = false;
};

Outcome install() {
  auto read = readSettings(processEnvironment(), thisMachine());
  if (const auto* error = std::get_if<std::string>(&read)) return {*error, true};
  const Settings& settings = std::get<Settings>(read);
  if (mpsHooksExist()) {
    return {
        "MPS hooks exist already in this process: the simulated mps device refuses to take the "
        "place of a real one"};
  }
  if (std::string problem = missingOpsProblem(settings.missingOps); !problem.empty()) {
    return {problem, true};
  }
  if (!registerHooks()) {
    return {
        "this process has asked PyTorch for MPS before the simulated mps device was loaded; load "
        "it first"};
  }
  // Last of the steps that may fail: it empties the ledger of an earlier run.
  // Not written with +: inlined, GCC 12 warns that it reads behind the string's end (a false
  // alarm).
  std::string device = "highwater-simmps ";
  device += kVersion;
  const LedgerOrigin origin{device, TORCH_VERSION};
  if (std::string problem = createDevice(settings, origin); !problem.empty()) {
    return {problem, true};
  }
  createMachine(settings);
  c10::SetAllocator(c10::DeviceType::MPS, deviceAllocator(), /*priority=*/10);
  registerGuard();
  registerKernels();
  return {};
}

Outcome installOrSayWhyNot() {
  try {
    return install();
  } catch (const std::exception& failure) {
    return {"the simulated mps device could not be registered: " + std::string(failure.what())};
  }
}

}  // namespace
}  // namespace highwater::simmps

const highwater::simmps::DeviceInstallation* highwater_simmps_install_device() {
  using namespace highwater::simmps;
  static const Outcome outcome = installOrSayWhyNot();
  static const DeviceInstallation installation = {
      outcome.error.empty() ? nullptr : outcome.error.c_str(), outcome.isUsage, &finishDevice,
      &readSystem, &endStep};
  return &installation;
}

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>

#include "simmps/allocator.h"
#include "simmps/device.h"
#include "simmps/hooks.h"
#include "simmps/registrations.h"
#include "simmps/setting_values.h"
#include "simmps/simmps.h"
#include "simmps/torch_version.h"

namespace highwater::simmps {
namespace {

#define HIGHWATER_TEXT_OF(X) #X
#define HIGHWATER_TEXT(X) HIGHWATER_TEXT_OF(X)
#define HIGHWATER_TORCH_VERSION       \
  HIGHWATER_TEXT(TORCH_VERSION_MAJOR) \
  "." HIGHWATER_TEXT(TORCH_VERSION_MINOR) "." HIGHWATER_TEXT(TORCH_VERSION_PATCH)
constexpr std::string_view kBuiltFor = HIGHWATER_TORCH_VERSION;

/// Version of the libtorch in this process, from its own build settings; empty where it says none.
std::string runtimeVersion() {
  const std::string config = at::show_config();
  constexpr std::string_view kKey = "TORCH_VERSION=";
  const auto start = config.find(kKey);
  if (start == std::string::npos) return {};
  const auto from = start + kKey.size();
  return config.substr(from, config.find_first_of(", \n", from) - from);
}

/// Empty, or why nothing may be registered. Nothing has been registered yet.
std::string obstacle() {
  const std::string running = runtimeVersion();
  // A nightly says 2.13.0a0+git...; the interface is the same within MAJOR.MINOR.PATCH.
  if (!running.empty() && running.rfind(kBuiltFor, 0) != 0) {
    return "the simulated mps device was compiled against libtorch " + std::string(kBuiltFor) +
           " and cannot run in libtorch " + running + "; build Highwater against that libtorch";
  }
  if (mpsHooksExist()) {
    return "MPS hooks exist already in this process: the simulated mps device refuses to take the "
           "place of a real one";
  }
  return {};
}

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

bool opExists(const std::string& name) {
  const auto colons = name.find("::");
  const auto dot = name.find('.', colons);
  const auto all = c10::Dispatcher::singleton().getAllOpNames();
  return std::any_of(all.begin(), all.end(), [&](const c10::OperatorName& each) {
    if (each.name != name.substr(0, dot)) return false;
    return dot == std::string::npos || each.overload_name == name.substr(dot + 1);
  });
}

/// Empty, or which of the ops that are to lack a kernel does not exist.
std::string unknownOp(const Settings& settings) {
  for (const std::string& name : settings.missingOps) {
    if (!opExists(name)) {
      return refusal(kSimMissingOpsVariable, name,
                     "names of ops that libtorch " HIGHWATER_TORCH_VERSION " has");
    }
  }
  return {};
}

/// How loading went; `error` is empty where the device is there.
struct Outcome {
  std::string error;
  bool isUsage = false;  ///< a setting in the environment is to blame
};

Outcome install() {
  auto settings = readSettings(processEnvironment(), thisMachine());
  if (auto* error = std::get_if<std::string>(&settings)) return {*error, true};
  if (std::string reason = obstacle(); !reason.empty()) return {reason};
  if (std::string reason = unknownOp(std::get<Settings>(settings)); !reason.empty()) {
    return {reason, true};
  }
  const LedgerOrigin origin{"highwater-simmps " HIGHWATER_VERSION, HIGHWATER_TORCH_VERSION};
  if (std::string problem = createDevice(std::get<Settings>(settings), origin); !problem.empty()) {
    return {problem, true};
  }
  if (!registerHooks()) {
    return {
        "this process has asked PyTorch for MPS before the simulated mps device was loaded; "
        "load it first"};
  }
  c10::SetAllocator(c10::DeviceType::MPS, deviceAllocator(), /*priority=*/10);
  registerGuard();
  registerKernels();
  return {};
}

/// Installs once; the result is kept.
const Outcome& outcome() {
  static const Outcome result = [] {
    try {
      return install();
    } catch (const std::exception& failure) {
      return Outcome{"the simulated mps device could not be registered: " +
                     std::string(failure.what())};
    }
  }();
  return result;
}

int installOnLoad() {
  const int failed = highwater_simmps_install();
  // From Python nobody asks highwater_simmps_error().
  if (failed) {
    std::fprintf(stderr, "highwater: no simulated mps device: %s\n", highwater_simmps_error());
  }
  return failed;
}

// torch.ops.load_library() and dlopen() call nothing: loading is installing.
[[maybe_unused]] const int kInstalledOnLoad = installOnLoad();

}  // namespace
}  // namespace highwater::simmps

extern "C" {

int highwater_simmps_install() {
  const auto& result = highwater::simmps::outcome();
  if (result.error.empty()) return 0;
  return result.isUsage ? 2 : 1;
}

const char* highwater_simmps_error() {
  const std::string& error = highwater::simmps::outcome().error;
  return error.empty() ? nullptr : error.c_str();
}

void highwater_simmps_finish() {
  if (highwater::simmps::outcome().error.empty()) highwater::simmps::finishDevice();
}

const char* highwater_simmps_version() {
  return "highwater-simmps " HIGHWATER_VERSION " for libtorch " HIGHWATER_TORCH_VERSION;
}
}

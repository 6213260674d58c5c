#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

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
  registerConvolutionKernels(mps);
  registerAlwaysFallingBack(mps);
  static torch::Library autograd(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMPS,
                                 __FILE__, __LINE__);
  registerAutogradKernels(autograd);
}

std::string install() {
  auto settings =
      readSettings([](const char* name) { return std::getenv(name); }, machineMemoryBytes());
  if (const auto* error = std::get_if<std::string>(&settings)) return *error;
  if (std::string reason = obstacle(); !reason.empty()) return reason;
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

/// Installs once; the result is kept.
const std::string& outcome() {
  static const std::string error = [] {
    try {
      return install();
    } catch (const std::exception& failure) {
      return "the simulated mps device could not be registered: " + std::string(failure.what());
    }
  }();
  return error;
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
  return highwater::simmps::outcome().empty() ? 0 : 1;
}

const char* highwater_simmps_error() {
  const std::string& error = highwater::simmps::outcome();
  return error.empty() ? nullptr : error.c_str();
}

const char* highwater_simmps_version() {
  return "highwater-simmps " HIGHWATER_VERSION " for libtorch " HIGHWATER_TORCH_VERSION;
}
}

#include <ATen/ATen.h>
#include <ATen/native/CPUFallback.h>
#include <c10/util/Exception.h>
#include <torch/version.h>
#if __has_include(<caffe2/core/common.h>)  // not shipped with 2.6
#include <caffe2/core/common.h>
#endif

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simmps/device.h"
#include "simmps/registrations.h"
#include "simmps/setting_values.h"

namespace highwater::simmps {
namespace {

// Sorted; "name" or "name.overload". Made by make_fallback_ops.py, chosen by CMakeLists.txt.
constexpr std::string_view kOpsWithoutMpsKernel[] = {
#include "simmps/fallback_ops.inc"
};

bool isInTable(std::string_view bareName) {
  return std::binary_search(std::begin(kOpsWithoutMpsKernel), std::end(kOpsWithoutMpsKernel),
                            bareName);
}

std::string commitHash() {
#if __has_include(<caffe2/core/common.h>)
  const auto& options = caffe2::GetBuildOptions();
  if (const auto found = options.find("COMMIT_SHA"); found != options.end()) return found->second;
#endif
  return "Unknown";
}

void runOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  TORCH_WARN_ONCE("The operator '", op.schema().operator_name(),
                  "' is not currently supported on the MPS backend and will fall back to run on "
                  "the CPU. This may have performance implications.");
  const FallbackScope accounted(c10::toString(op.operator_name()));
  at::native::cpu_fallback(op, stack);
}

/// All overloads of "aten::name", or the one of "aten::name.overload".
std::vector<c10::OperatorName> overloadsOf(const std::string& name) {
  const auto dot = name.find('.');
  std::vector<c10::OperatorName> found;
  for (const c10::OperatorName& op : c10::Dispatcher::singleton().getAllOpNames()) {
    const bool isNamed = op.name == name.substr(0, dot) &&
                         (dot == std::string::npos || op.overload_name == name.substr(dot + 1));
    if (isNamed) found.push_back(op);
  }
  return found;
}

/// Composite ops reach no backend; with a kernel for one they would lose their derivative.
bool isMadeOfOthers(const c10::OperatorName& name) {
  const auto op = c10::Dispatcher::singleton().findOp(name);
  return op && op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !op->hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

}  // namespace

bool lacksMpsKernel(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  constexpr std::string_view kNamespace = "aten::";
  if (name.name.compare(0, kNamespace.size(), kNamespace) != 0) return true;
  std::string bare = name.name.substr(kNamespace.size());
  if (!name.overload_name.empty()) bare += "." + name.overload_name;
  return isInTable(bare);
}

void fallBack(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  // PyTorch's own text (MPSFallback.mm), so that what matches it on a Mac matches it here.
  TORCH_CHECK_NOT_IMPLEMENTED(
      deviceSettings().cpuFallback, "The operator '", op.schema().operator_name(),
      "' is not currently implemented for the MPS device. If you want this op to be considered for "
      "addition please comment on https://github.com/pytorch/pytorch/issues/141287 and mention "
      "use-case, that resulted in missing op as well as commit hash ",
      commitHash(),
      ". As a temporary fix, you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` "
      "to use the CPU as a fallback for this op. WARNING: this will be slower than running "
      "natively "
      "on MPS.");
  runOnCpu(op, stack);
}

void registerAlwaysFallingBack(torch::Library& library) {
  const auto add = [&library](const char* name) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&runOnCpu>());
  };
  for (const char* name : {"embedding_renorm_", "linalg_svd", "linalg_svd.U"}) add(name);
  // Until they got kernels of their own.
  if (isInTable("col2im")) add("col2im");
  if (isInTable("upsample_nearest3d.out")) add("upsample_nearest3d.vec");
}

void registerMissingOps(torch::Library& library, const std::vector<std::string>& names) {
  // Some of them have a kernel of ours, and the dispatcher warns of the second.
  struct Silent final : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  } silent;
  const c10::WarningUtils::WarningHandlerGuard guard(&silent);
  for (const std::string& name : names) {
    for (const c10::OperatorName& op : overloadsOf(name)) {
      if (isMadeOfOthers(op)) continue;
      library.impl(c10::toString(op).c_str(),
                   torch::CppFunction::makeFromBoxedFunction<&fallBack>());
    }
  }
}

void registerKernelsOfTable(torch::Library& library) {
  using Key = c10::DispatchKey;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (!op || !op->hasKernelForDispatchKey(Key::CPU) || lacksMpsKernel(*op)) continue;
    // These come before the fallback of the key.
    const bool isServed = op->hasKernelForDispatchKey(Key::MPS) ||
                          op->hasKernelForDispatchKey(Key::CompositeImplicitAutograd) ||
                          op->hasKernelForDispatchKey(Key::CompositeExplicitAutograd) ||
                          op->hasKernelForDispatchKey(Key::CompositeExplicitAutogradNonFunctional);
    if (isServed) continue;
    library.impl(c10::toString(name).c_str(),
                 torch::CppFunction::makeFromBoxedFunction<&runOnDevice>());
  }
}

std::string missingOpsProblem(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto overloads = overloadsOf(name);
    if (overloads.empty() || name.rfind("aten::", 0) != 0) {
      return refusal(kSimMissingOpsVariable, name,
                     "names of aten ops that libtorch " TORCH_VERSION " has");
    }
    if (std::all_of(overloads.begin(), overloads.end(), isMadeOfOthers)) {
      return refusal(kSimMissingOpsVariable, name,
                     "ops with kernels of their own: this one is made of other ops");
    }
  }
  return {};
}

}  // namespace highwater::simmps

#include <ATen/ATen.h>
#include <ATen/native/CPUFallback.h>
#if __has_include(<caffe2/core/common.h>)  // not shipped with 2.6
#include <caffe2/core/common.h>
#endif

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "simmps/device.h"
#include "simmps/registrations.h"
#include "simmps/torch_version.h"

namespace highwater::simmps {
namespace {

// Sorted; "name" or "name.overload". Made by make_fallback_ops.py.
constexpr std::string_view kOpsWithoutMpsKernel[] = {
#include "simmps/fallback_ops_2_13.inc"
};

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

}  // namespace

bool lacksMpsKernel(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  constexpr std::string_view kNamespace = "aten::";
  if (name.name.compare(0, kNamespace.size(), kNamespace) != 0) return true;
  std::string bare = name.name.substr(kNamespace.size());
  if (!name.overload_name.empty()) bare += "." + name.overload_name;
  return std::binary_search(std::begin(kOpsWithoutMpsKernel), std::end(kOpsWithoutMpsKernel),
                            std::string_view(bare));
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
  for (const char* name : {
         "embedding_renorm_", "linalg_svd", "linalg_svd.U",
#if !HIGHWATER_TORCH_AT_LEAST(2, 7)
             "col2im", "upsample_nearest3d.vec",
#endif
       }) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&runOnCpu>());
  }
}

}  // namespace highwater::simmps

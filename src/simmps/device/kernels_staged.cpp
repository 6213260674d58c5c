#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "core/units.h"
#include "simmps/device/device.h"
#include "simmps/device/registrations.h"
#include "simmps/torch_version.h"

// Since PyTorch 2.14 some MPS kernels copy a large matrix to the CPU by themselves, call the op
// there and copy the results back: a fallback without aten::_to_cpu.
namespace highwater::simmps {

#if HIGHWATER_TORCH_AT_LEAST(2, 14)
namespace {

/// Metal's limit of threadgroup memory on Apple's GPUs. How much of it PyTorch's kernels use for a
/// matrix is not documented; here its elements count.
constexpr std::int64_t kThreadgroupBytes = 32 * static_cast<std::int64_t>(kKiB);

bool fitsIntoThreadgroup(const at::Tensor& matrix) {
  return matrix.dim() < 2 ||
         matrix.size(-1) * matrix.size(-2) * static_cast<std::int64_t>(matrix.element_size()) <=
             kThreadgroupBytes;
}

void stageWhereTooLarge(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                        torch::jit::Stack* stack) {
  const auto& parameters = op.schema().arguments();
  const at::Tensor matrix = torch::jit::peek(*stack, 0, parameters.size()).toTensor();
  if (fitsIntoThreadgroup(matrix)) {
    runOnDevice(op, keys, stack);
    return;
  }
  TORCH_WARN_ONCE(op.schema().name(), ": matrix too large to stage in MPS threadgroup memory (",
                  matrix.nbytes(), " bytes); falling back to CPU.");
  const FallbackScope accounted(c10::toString(op.operator_name()));
  const torch::jit::Stack given = torch::jit::pop(*stack, parameters.size());
  torch::jit::Stack onCpu = given;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!given[i].isTensor()) continue;
    const at::Tensor& tensor = given[i].toTensor();
    onCpu[i] =
        parameters[i].is_out() ? at::empty({0}, tensor.options().device(at::kCPU)) : tensor.cpu();
  }
  torch::jit::Stack called = onCpu;
  op.callBoxed(&called);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_out()) continue;
    at::Tensor result = given[i].toTensor();
    if (result.sizes() != onCpu[i].toTensor().sizes()) result.resize_(onCpu[i].toTensor().sizes());
    result.copy_(onCpu[i].toTensor());
    torch::jit::push(*stack, result);
  }
}

}  // namespace

void registerStagedKernels(torch::Library& library) {
  for (const char* name : {"_linalg_svd.U", "_linalg_eigh.eigenvalues"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&stageWhereTooLarge>());
  }
}
#else
void registerStagedKernels(torch::Library&) {}
#endif

}  // namespace highwater::simmps

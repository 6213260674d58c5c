#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <initializer_list>
#include <optional>
#include <tuple>

#include "simmps/op_graphs.h"
#include "simmps/registrations.h"

// Ops that need more than their CPU kernel on aliased tensors.
namespace highwater::simmps {
namespace {

// native_dropout has no generator argument: its CPU kernel would draw from the CPU's generator.
std::tuple<at::Tensor, at::Tensor> nativeDropout(const at::Tensor& input, double probability,
                                                 std::optional<bool> train) {
  const at::DisableRecordFunctionGuard unobserved;
  if (!train.value_or(true) || input.numel() == 0) {
    return {input.clone(), at::ones(input.sizes(), input.options().dtype(at::kBool))};
  }
  const OneGraph graph("aten::native_dropout", {input});
  const double kept = 1.0 - probability;
  at::Tensor mask = at::empty(input.sizes(), input.options().dtype(at::kBool));
  mask.bernoulli_(kept);
  return {input.mul(mask).mul_(kept == 0 ? 0.0 : 1.0 / kept), mask};
}

at::Tensor nativeDropoutBackward(const at::Tensor& grad, const at::Tensor& mask, double scale) {
  const at::DisableRecordFunctionGuard unobserved;
  const OneGraph graph("aten::native_dropout_backward", {grad, mask});
  return grad.mul(mask).mul(scale);
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& mask, double dropout, bool causal,
                     std::optional<double> scale, bool groupedQueries) {
  // Where a Mac takes _scaled_dot_product_attention_math_for_mps; for training it composes too.
  const bool differentiates =
      at::GradMode::is_enabled() &&
      (query.requires_grad() || key.requires_grad() || value.requires_grad());
  std::optional<OneGraph> graph;
  if (dropout == 0 && !differentiates) {
    graph.emplace("aten::scaled_dot_product_attention",
                  std::initializer_list<at::Tensor>{query, key, value});
  }
  return std::get<0>(at::_scaled_dot_product_attention_math(
      query, key, value, mask, dropout, causal, std::nullopt, scale, groupedQueries));
}

}  // namespace

void registerComposedKernels(torch::Library& library) {
  // Ops with a CPU kernel and an MPS kernel whose stock composite would be taken instead: it gives
  // other bits than the CPU's kernel, and native_layer_norm's would enter a CPU stub.
  for (const char* name :
       {"native_layer_norm", "native_group_norm", "mish_backward", "silu_backward", "addr"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&runOnDevice>());
  }
  library.impl("native_dropout", &nativeDropout);
  library.impl("native_dropout_backward", &nativeDropoutBackward);
  library.impl("scaled_dot_product_attention", &attention);
}

void registerAutogradKernels(torch::Library& library) {
  library.impl("scaled_dot_product_attention", &attention);
}

}  // namespace highwater::simmps

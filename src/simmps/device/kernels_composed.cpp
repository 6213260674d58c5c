#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <initializer_list>
#include <limits>
#include <optional>
#include <tuple>

#include "simmps/device/allocator.h"
#include "simmps/device/op_graphs.h"
#include "simmps/device/registrations.h"
#include "simmps/torch_version.h"

// Ops that a CPU kernel on aliased tensors does not serve.
namespace highwater::simmps {
namespace {

// native_dropout has no generator argument, so its CPU kernel would draw from the CPU's generator.
std::tuple<at::Tensor, at::Tensor> nativeDropout(const at::Tensor& input, double probability,
                                                 std::optional<bool> train) {
  const at::DisableRecordFunctionGuard unobserved;
  if (!train.value_or(true) || input.numel() == 0) {
    return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  }
  const SingleGraphScope graph("aten::native_dropout", {input});
  const double keepProbability = 1.0 - probability;
  // Laid out as the input, as the CPU's mask is: the numbers are drawn in the order of memory.
  at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
  mask.bernoulli_(keepProbability);
  return {input.mul(mask).mul_(keepProbability == 0 ? 0.0 : 1.0 / keepProbability), mask};
}

at::Tensor nativeDropoutBackward(const at::Tensor& grad, const at::Tensor& mask, double scale) {
  const at::DisableRecordFunctionGuard unobserved;
  const SingleGraphScope graph("aten::native_dropout_backward", {grad, mask});
  return grad.mul(mask).mul(scale);
}

/// PyTorch's checks (attention.cpp), which its own kernel makes before it chooses a backend.
void checkAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                    const std::optional<at::Tensor>& mask) {
  TORCH_CHECK(
      query.dtype() == key.dtype() && query.dtype() == value.dtype(),
      "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype(),
      " key.dtype: ", key.dtype(), " and value.dtype: ", value.dtype(), " instead.");
  TORCH_CHECK(query.device() == key.device() && query.device() == value.device(),
              "Expected query, key, and value to have the same device type, but got query.device: ",
              query.device(), " key.device: ", key.device(), " and value.device: ", value.device(),
              " instead.");
  TORCH_CHECK(
      query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
      "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ",
      query.dim(), " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  TORCH_CHECK(!mask || mask->dtype() == at::kBool || mask->dtype() == at::kFloat ||
                  mask->dtype() == query.dtype(),
              "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
              "attn_mask.dtype: ",
              mask->dtype(), " and  query.dtype: ", query.dtype(), " instead.");
}

/// A mask to add to the scores: a boolean one becomes 0 where it is true, else -inf.
std::optional<at::Tensor> additiveMask(const std::optional<at::Tensor>& mask,
                                       at::ScalarType dtype) {
  if (!mask || mask->scalar_type() != at::kBool) return mask;
  return at::zeros_like(*mask, mask->options().dtype(dtype))
      .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& given, double dropout, bool causal,
                     std::optional<double> scale, bool groupedQueries) {
  const auto mask = given && given->defined() ? given : std::nullopt;
  checkAttention(query, key, value, mask);
  const auto added = additiveMask(mask, query.scalar_type());
  // Without dropout and gradients a Mac runs _scaled_dot_product_attention_math_for_mps: one graph.
  const bool differentiates =
      at::GradMode::is_enabled() &&
      (query.requires_grad() || key.requires_grad() || value.requires_grad());
  std::optional<SingleGraphScope> graph;
  if (dropout == 0 && !differentiates) {
    graph.emplace(
        "aten::scaled_dot_product_attention",
        std::initializer_list<at::Tensor>{query, key, value, added.value_or(at::Tensor())});
  }
  return std::get<0>(at::_scaled_dot_product_attention_math(
      query, key, value, added, dropout, causal, std::nullopt, scale, groupedQueries));
}

#if HIGHWATER_TORCH_AT_LEAST(2, 14)
void recordStream(at::Tensor& self, c10::Stream stream) {
  deviceAllocator()->recordStream(self.storage().data_ptr(), stream);
}
#endif

}  // namespace

void registerComposedKernels(torch::Library& library) {
  // Ops with a CPU and an MPS kernel for which PyTorch would choose its composite: that gives other
  // bits than the CPU kernel, and native_layer_norm's would enter a CPU stub.
  for (const char* name :
       {"native_layer_norm", "native_group_norm", "mish_backward", "silu_backward", "addr"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&runOnDevice>());
  }
  library.impl("native_dropout", &nativeDropout);
  library.impl("native_dropout_backward", &nativeDropoutBackward);
  library.impl("scaled_dot_product_attention", &attention);
#if HIGHWATER_TORCH_AT_LEAST(2, 14)
  library.impl("record_stream", &recordStream);
  // PyTorch's composite enters a stub of the device.
  for (const char* name : {"ldexp.Tensor", "ldexp_", "ldexp.out"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&runOnDevice>());
  }
#endif
}

void registerAutogradKernels(torch::Library& library) {
  library.impl("scaled_dot_product_attention", &attention);
}

}  // namespace highwater::simmps

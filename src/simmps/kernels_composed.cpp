#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <array>
#include <tuple>
#include <vector>

#include "simmps/device.h"
#include "simmps/registrations.h"
#include "simmps/tensors.h"

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
  const double kept = 1.0 - probability;
  at::Tensor mask = at::empty(input.sizes(), input.options().dtype(at::kBool));
  mask.bernoulli_(kept);
  return {input.mul(mask).mul_(kept == 0 ? 0.0 : 1.0 / kept), mask};
}

at::Tensor nativeDropoutBackward(const at::Tensor& grad, const at::Tensor& mask, double scale) {
  const at::DisableRecordFunctionGuard unobserved;
  return grad.mul(mask.to(grad.scalar_type())).mul_(scale);
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& mask, double dropout, bool causal,
                     std::optional<double> scale, bool groupedQueries) {
  return std::get<0>(at::_scaled_dot_product_attention_math(
      query, key, value, mask, dropout, causal, std::nullopt, scale, groupedQueries));
}

at::Tensor toDevice(const at::Tensor& result) {
  if (!result.defined()) return result;
  at::Tensor out = makeOnDevice(result.sizes(), result.strides(), result.scalar_type());
  submitJob("aten::copy_", [to = cpuAlias(out), result]() mutable { to.copy_(result); });
  return out;
}

// Convolutions have no shape function here yet: the host waits for the result.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef outputPadding, std::int64_t groups) {
  const at::DisableRecordFunctionGuard unobserved;
  at::Tensor result;
  std::optional<at::Tensor> cpuBias;
  if (bias && bias->defined()) cpuBias = cpuAlias(*bias);
  submitJob("aten::convolution", [&, x = cpuAlias(input), w = cpuAlias(weight)] {
    result = at::convolution(x, w, cpuBias, stride, padding, dilation, transposed, outputPadding,
                             groups);
  });
  drainDevice(DrainCause::NoShape, "aten::convolution");
  return toDevice(result);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolutionBackward(
    const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef outputPadding, std::int64_t groups, std::array<bool, 3> wanted) {
  const at::DisableRecordFunctionGuard unobserved;
  const std::vector<std::int64_t> biasSizes{grad.size(1)};
  std::tuple<at::Tensor, at::Tensor, at::Tensor> result;
  submitJob("aten::convolution_backward", [&, g = cpuAlias(grad), x = cpuAlias(input),
                                           w = cpuAlias(weight)] {
    result = at::convolution_backward(g.contiguous(), x, w, biasSizes, stride, padding, dilation,
                                      transposed, outputPadding, groups, wanted);
  });
  drainDevice(DrainCause::NoShape, "aten::convolution_backward");
  return {toDevice(std::get<0>(result)), toDevice(std::get<1>(result)),
          toDevice(std::get<2>(result))};
}

}  // namespace

void registerComposedKernels(torch::Library& library) {
  // Its stock composite would run the CPU's LayerNormKernel stub on mps tensors.
  library.impl("native_layer_norm", torch::CppFunction::makeFromBoxedFunction<&runOnDevice>());
  library.impl("native_dropout", &nativeDropout);
  library.impl("native_dropout_backward", &nativeDropoutBackward);
  library.impl("scaled_dot_product_attention", &attention);
  library.impl("convolution_overrideable", &convolution);
  library.impl("convolution_backward_overrideable", &convolutionBackward);
}

void registerAutogradKernels(torch::Library& library) {
  library.impl("scaled_dot_product_attention", &attention);
}

}  // namespace highwater::simmps

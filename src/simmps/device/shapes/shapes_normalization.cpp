#include <ATen/native/layer_norm.h>

#include "simmps/device/shapes/shapes.h"

namespace highwater::simmps {
namespace {

/// Which gradients (input, weight, bias) are wanted; the kernel reports a wrong count.
bool isMask(const c10::List<bool>& wanted) {
  return wanted.size() == 3;
}

/// Statistics of half-precision inputs have the parameters' dtype.
at::ScalarType statisticsDtype(const at::Tensor& input, const at::Tensor& parameter) {
  return parameter.defined() ? parameter.scalar_type() : input.scalar_type();
}

// (input, normalized_shape, weight, bias, eps) -> (output, mean, rstd)
Layouts layerNorm(const Stack& arguments) {
  const at::Tensor input = tensorAt(arguments, 0);
  at::native::_check_layer_norm_inputs(input, arguments[1].toIntVector(),
                                       optionalTensorAt(arguments, 2),
                                       optionalTensorAt(arguments, 3));
  const auto kept = input.dim() - static_cast<std::int64_t>(arguments[1].toIntVector().size());
  c10::DimVector sizes(input.sizes());
  for (std::int64_t i = std::max<std::int64_t>(kept, 0); i < input.dim(); ++i) sizes[i] = 1;
  const Layout statistics =
      contiguous(sizes, statisticsDtype(input, optionalTensorAt(arguments, 2)));
  return {contiguousLike(input), statistics, statistics};
}

// (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
Layouts layerNormBackward(const Stack& arguments) {
  const auto wanted = arguments[7].toBoolList();
  const at::Tensor weight = optionalTensorAt(arguments, 5), bias = optionalTensorAt(arguments, 6);
  if (!isMask(wanted)) return {};
  if ((wanted[1] && !weight.defined()) || (wanted[2] && !bias.defined())) return {};
  return {wanted[0] ? contiguousLike(tensorAt(arguments, 1)) : unwanted(),
          wanted[1] ? like(weight) : unwanted(), wanted[2] ? like(bias) : unwanted()};
}

// (input, weight, bias, N, C, HxW, group, eps) -> (output, mean, rstd)
Layouts groupNorm(const Stack& arguments) {
  const at::Tensor input = tensorAt(arguments, 0);
  const Layout statistics = contiguous({arguments[3].toInt(), arguments[6].toInt()},
                                       statisticsDtype(input, optionalTensorAt(arguments, 1)));
  return {suggestedLike(input), statistics, statistics};
}

// (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)
Layouts groupNormBackward(const Stack& arguments) {
  const auto wanted = arguments[9].toBoolList();
  if (!isMask(wanted)) return {};
  const at::Tensor input = tensorAt(arguments, 1);
  const Layout parameter =
      contiguous({arguments[6].toInt()}, statisticsDtype(input, optionalTensorAt(arguments, 4)));
  return {wanted[0] ? suggestedLike(input) : unwanted(), wanted[1] ? parameter : unwanted(),
          wanted[2] ? parameter : unwanted()};
}

Layouts batchNormResults(const at::Tensor& input, const at::Tensor& weight, bool training) {
  const Layout statistics =
      contiguous({training ? input.size(1) : 0}, statisticsDtype(input, weight));
  return {suggestedLike(input), statistics, statistics};
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps)
//   -> (output, save_mean, save_invstd)
Layouts batchNorm(const Stack& arguments) {
  return batchNormResults(tensorAt(arguments, 0), optionalTensorAt(arguments, 1),
                          arguments[5].toBool());
}

// (input, weight, bias, training, momentum, eps)
Layouts batchNormWithoutStatistics(const Stack& arguments) {
  return batchNormResults(tensorAt(arguments, 0), optionalTensorAt(arguments, 1),
                          arguments[3].toBool());
}

// (input, weight, bias, running_mean, running_var, momentum, eps)
//   -> (output, save_mean, save_invstd, reserve)
Layouts batchNormUpdate(const Stack& arguments) {
  Layouts results =
      batchNormResults(tensorAt(arguments, 0), optionalTensorAt(arguments, 1), /*training=*/true);
  results.push_back(contiguous({0}, at::kByte));
  return results;
}

Layouts batchNormGradients(const Stack& arguments, const c10::List<bool>& wanted) {
  if (!isMask(wanted)) return {};
  const at::Tensor input = tensorAt(arguments, 1);
  const Layout parameter =
      contiguous({input.size(1)}, statisticsDtype(input, optionalTensorAt(arguments, 2)));
  return {wanted[0] ? suggestedLike(input) : unwanted(), wanted[1] ? parameter : unwanted(),
          wanted[2] ? parameter : unwanted()};
}

// (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
//  output_mask); batch_norm_backward has a reserve behind them
Layouts batchNormBackward(const Stack& arguments) {
  return batchNormGradients(arguments, arguments[9].toBoolList());
}

// (v, g, dim) -> (w, norms)
Layouts weightNorm(const Stack& arguments) {
  const at::Tensor v = tensorAt(arguments, 0), g = tensorAt(arguments, 1);
  const auto norms = g.scalar_type() == at::kBFloat16 ? at::kFloat : g.scalar_type();
  return {contiguousLike(v), contiguous(g.sizes(), norms)};
}

// (grad_w, saved_v, saved_g, saved_norms, dim) -> (grad_v, grad_g)
Layouts weightNormBackward(const Stack& arguments) {
  return {contiguousLike(tensorAt(arguments, 1)), contiguousLike(tensorAt(arguments, 2))};
}

}  // namespace

void addNormalizationShapes(ShapeTable& table) {
  table.insert({
      {"native_layer_norm", layerNorm},
      {"native_layer_norm_backward", layerNormBackward},
      {"native_group_norm", groupNorm},
      {"native_group_norm_backward", groupNormBackward},
      {"native_batch_norm", batchNorm},
      {"_native_batch_norm_legit", batchNorm},
      {"_native_batch_norm_legit.no_stats", batchNormWithoutStatistics},
      {"_batch_norm_with_update", batchNormUpdate},
      {"native_batch_norm_backward", batchNormBackward},
      {"batch_norm_backward", batchNormBackward},
      {"_weight_norm_interface", weightNorm},
      {"_weight_norm_interface_backward", weightNormBackward},
  });
}

}  // namespace highwater::simmps

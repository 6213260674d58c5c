#include "simmps/output_shapes.h"

#include <functional>
#include <unordered_map>

#include "simmps/tensors.h"

namespace highwater::simmps {
namespace {

using Outputs = std::vector<at::Tensor>;
using ShapeFunction = std::function<Outputs(const torch::jit::Stack&)>;

at::Tensor contiguous(at::IntArrayRef sizes, at::ScalarType dtype) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<std::int64_t>(sizes[i], 1);
  }
  return makeOnDevice(sizes, strides, dtype);
}

at::Tensor contiguousLike(const at::Tensor& tensor) {
  return contiguous(tensor.sizes(), tensor.scalar_type());
}

at::Tensor like(const at::Tensor& tensor) {
  return at::empty_like(tensor);
}

Outputs sameAsFirst(const torch::jit::Stack& arguments) {
  return {like(arguments[0].toTensor())};
}

// (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)
Outputs embeddingDenseBackward(const torch::jit::Stack& arguments) {
  const at::Tensor grad = arguments[0].toTensor();
  return {contiguous({arguments[2].toInt(), grad.size(-1)}, grad.scalar_type())};
}

// (self, dim, index)
Outputs indexSelect(const torch::jit::Stack& arguments) {
  const at::Tensor self = arguments[0].toTensor();
  std::vector<std::int64_t> sizes = self.sizes().vec();
  if (sizes.empty()) return {contiguousLike(self)};
  sizes[at::maybe_wrap_dim(arguments[1].toInt(), self.dim())] = arguments[2].toTensor().numel();
  return {contiguous(sizes, self.scalar_type())};
}

// (input, normalized_shape, weight, bias, eps) -> (output, mean, rstd)
Outputs layerNorm(const torch::jit::Stack& arguments) {
  const at::Tensor input = arguments[0].toTensor();
  const auto kept = input.dim() - static_cast<std::int64_t>(arguments[1].toIntVector().size());
  std::vector<std::int64_t> statistics = input.sizes().vec();
  for (std::int64_t i = std::max<std::int64_t>(kept, 0); i < input.dim(); ++i) statistics[i] = 1;
  return {contiguousLike(input), contiguous(statistics, input.scalar_type()),
          contiguous(statistics, input.scalar_type())};
}

// (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
Outputs layerNormBackward(const torch::jit::Stack& arguments) {
  const auto wanted = arguments[7].toBoolList();
  const auto from = [&](std::size_t argument) { return arguments[argument].toTensor(); };
  return {wanted[0] ? contiguousLike(from(1)) : at::Tensor(),
          wanted[1] ? like(from(5)) : at::Tensor(), wanted[2] ? like(from(6)) : at::Tensor()};
}

const std::unordered_map<std::string_view, ShapeFunction>& shapeFunctions() {
  static const std::unordered_map<std::string_view, ShapeFunction> functions = {
      {"aten::embedding_dense_backward", embeddingDenseBackward},
      {"aten::index_select", indexSelect},
      {"aten::native_layer_norm", layerNorm},
      {"aten::native_layer_norm_backward", layerNormBackward},
      {"aten::relu", sameAsFirst},
  };
  return functions;
}

}  // namespace

std::optional<Outputs> outputsFor(std::string_view op, const torch::jit::Stack& arguments) {
  const auto found = shapeFunctions().find(op);
  if (found == shapeFunctions().end()) return std::nullopt;
  return found->second(arguments);
}

}  // namespace highwater::simmps

#include "simmps/device/shapes/shapes.h"

namespace highwater::simmps {
namespace {

// (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)
Layouts embeddingDenseBackward(const Stack& arguments) {
  const at::Tensor grad = tensorAt(arguments, 0);
  return {contiguous({arguments[2].toInt(), grad.size(-1)}, grad.scalar_type())};
}

// (self, dim, index)
Layouts indexSelect(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0), index = tensorAt(arguments, 2);
  TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  TORCH_CHECK(index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
              "index_select(): Expected dtype int32 or int64 for index");
  c10::DimVector sizes(self.sizes());
  const auto dim = at::maybe_wrap_dim(arguments[1].toInt(), self.dim());
  if (!sizes.empty()) sizes[dim] = index.numel();
  return {contiguous(sizes, self.scalar_type())};
}

// (repeats, output_size)
Layouts repeatInterleave(const Stack& arguments) {
  if (arguments[1].isNone()) return {};
  return {contiguous({arguments[1].toInt()}, tensorAt(arguments, 0).scalar_type())};
}

// (self, size, fill_value)
Layouts nonzeroStatic(const Stack& arguments) {
  return {contiguous({arguments[1].toInt(), tensorAt(arguments, 0).dim()}, at::kLong)};
}

/// (self, boundaries, out_int32, right), self a tensor or a number
Layouts bucketize(const Stack& arguments) {
  const auto dtype = arguments[2].toBool() ? at::kInt : at::kLong;
  TORCH_CHECK(tensorAt(arguments, 1).dim() == 1,
              "boundaries tensor must be 1 dimension, but got dim(", tensorAt(arguments, 1).dim(),
              ")");
  if (!arguments[0].isTensor()) return {zeroDim(dtype)};
  return {contiguous(tensorAt(arguments, 0).sizes(), dtype)};
}

/// (sorted_sequence, self, out_int32, right, side, sorter), self a tensor or a number
Layouts searchSorted(const Stack& arguments) {
  const auto dtype = arguments[2].toBool() ? at::kInt : at::kLong;
  if (!arguments[1].isTensor()) return {zeroDim(dtype)};
  return {contiguous(tensorAt(arguments, 1).sizes(), dtype)};
}

// (self, num_samples, replacement, generator)
Layouts multinomial(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const std::int64_t samples = arguments[1].toInt();
  // Otherwise the kernel reports the error at once.
  if (self.dim() < 1 || self.dim() > 2 || !at::isFloatingType(self.scalar_type())) return {};
  if (samples < 1 || (!arguments[2].toBool() && samples > self.size(-1))) return {};
  if (self.dim() == 1) return {contiguous({samples}, at::kLong)};
  return {contiguous({self.size(0), samples}, at::kLong)};
}

// (grad_in, input_sizes, dim, size, step)
Layouts unfoldBackward(const Stack& arguments) {
  return {contiguous(arguments[1].toIntVector(), tensorAt(arguments, 0).scalar_type())};
}

}  // namespace

void addIndexingShapes(ShapeTable& table) {
  table.insert({
      {"embedding_dense_backward", embeddingDenseBackward},
      {"index_select", indexSelect},
      {"repeat_interleave.Tensor", repeatInterleave},
      {"nonzero_static", nonzeroStatic},
      {"bucketize.Tensor", bucketize},
      {"bucketize.Scalar", bucketize},
      {"bucketize.Tensor_out", bucketize},
      {"searchsorted.Tensor", searchSorted},
      {"searchsorted.Scalar", searchSorted},
      {"searchsorted.Tensor_out", searchSorted},
      {"searchsorted.Scalar_out", searchSorted},
      {"multinomial", multinomial},
      {"unfold_backward", unfoldBackward},
  });
}

}  // namespace highwater::simmps

#include <ATen/ExpandUtils.h>

#include "simmps/device/shapes/shapes.h"

namespace highwater::simmps {
namespace {

// (self, batch1, batch2, beta, alpha)
Layouts addbmm(const Stack& arguments) {
  const at::Tensor a = tensorAt(arguments, 1), b = tensorAt(arguments, 2);
  TORCH_CHECK(a.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(b.dim() == 3, "batch2 must be a 3D tensor");
  return {contiguous({a.size(1), b.size(2)}, tensorAt(arguments, 0).scalar_type())};
}

// (self, vec1, vec2, beta, alpha)
Layouts addr(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0), a = tensorAt(arguments, 1),
                   b = tensorAt(arguments, 2);
  return {contiguous({a.numel(), b.numel()},
                     at::promote_types(at::result_type(self, a), b.scalar_type()))};
}

/// The broadcast batch sizes of `x` and `y`, then `rows` and `columns`.
c10::DimVector batched(const at::Tensor& x, const at::Tensor& y, std::int64_t rows,
                       std::int64_t columns) {
  c10::DimVector sizes =
      at::infer_size_dimvector(x.sizes().slice(0, x.dim() - 2), y.sizes().slice(0, y.dim() - 2));
  sizes.append({rows, columns});
  return sizes;
}

// (grad, x1, x2, p, cdist)
Layouts distancesBackward(const Stack& arguments) {
  const at::Tensor x = tensorAt(arguments, 1), y = tensorAt(arguments, 2);
  if (x.dim() < 2 || y.dim() < 2) return {};  // the kernel reports the error
  const c10::DimVector sizes = batched(x, y, x.size(-2), x.size(-1));
  if (c10::multiply_integers(sizes) == 0 || y.size(-2) == 0) return {contiguousLike(x)};
  return {contiguous(sizes, x.scalar_type())};
}

// (x1, x2, p, compute_mode)
Layouts distances(const Stack& arguments) {
  const at::Tensor x = tensorAt(arguments, 0), y = tensorAt(arguments, 1);
  if (x.dim() < 2 || y.dim() < 2) return {};  // the kernel reports the error
  return {contiguous(batched(x, y, x.size(-2), y.size(-2)), x.scalar_type())};
}

// (self, bins, min, max)
Layouts histc(const Stack& arguments) {
  if (arguments[1].toInt() < 1) return {};  // the kernel reports the error
  return {contiguous({arguments[1].toInt()}, tensorAt(arguments, 0).scalar_type())};
}

// (self, bins: tensor, weight, density) -> (hist, bin_edges)
Layouts histogramOfEdges(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0), edges = tensorAt(arguments, 1);
  return {contiguous({edges.numel() - 1}, self.scalar_type()),
          contiguous({edges.numel()}, self.scalar_type())};
}

// (self, bins: number, range, weight, density) -> (hist, bin_edges)
Layouts histogramOfCount(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const std::int64_t bins = arguments[1].toInt();
  if (bins < 1) return {};  // the kernel reports the error
  return {contiguous({bins}, self.scalar_type()), contiguous({bins + 1}, self.scalar_type())};
}

}  // namespace

void addLinearAlgebraShapes(ShapeTable& table) {
  table.insert({
      {"addbmm", addbmm},
      {"addr", addr},
      {"_cdist_forward", distances},
      {"_cdist_backward", distancesBackward},
      {"histc", histc},
      {"histogram.bins_tensor", histogramOfEdges},
      {"histogram.bin_ct", histogramOfCount},
  });
}

}  // namespace highwater::simmps

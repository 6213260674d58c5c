#include <ATen/WrapDimUtilsMulti.h>

#include "simmps/device/shapes/shapes.h"

namespace highwater::simmps {
namespace {

/// `dims` may be None or empty for all dimensions.
c10::DimVector reducedSizes(const at::Tensor& self, const c10::IValue& dims, bool keepdim) {
  const auto wanted = dims.isNone() ? std::vector<std::int64_t>() : dims.toIntVector();
  const auto mask = at::dim_list_to_bitset(at::OptionalIntArrayRef(wanted), self.dim());
  const bool all = wanted.empty();
  c10::DimVector sizes;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    const bool reduced = all || mask[i];
    if (!reduced) sizes.push_back(self.size(i));
    if (reduced && keepdim) sizes.push_back(1);
  }
  return sizes;
}

at::ScalarType realValued(const at::Tensor& self) {
  return c10::isComplexType(self.scalar_type()) ? c10::toRealValueType(self.scalar_type())
                                                : self.scalar_type();
}

// (self, dim, correction, keepdim)
Layouts variance(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  return {contiguous(reducedSizes(self, arguments[1], arguments[3].toBool()), realValued(self))};
}

// as variance() -> (variance, mean)
Layouts varianceAndMean(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto sizes = reducedSizes(self, arguments[1], arguments[3].toBool());
  return {contiguous(sizes, realValued(self)), contiguous(sizes, self.scalar_type())};
}

at::ScalarType sumDtype(const at::Tensor& self, const c10::IValue& dtype) {
  return dtype.isNone() ? summed(self.scalar_type()) : dtype.toScalarType();
}

// (self, dim, keepdim, dtype)
Layouts nansum(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  return {contiguous(reducedSizes(self, arguments[1], arguments[2].toBool()),
                     sumDtype(self, arguments[3]))};
}

// (self, dtype)
Layouts productOfAll(const Stack& arguments) {
  return {zeroDim(sumDtype(tensorAt(arguments, 0), arguments[1]))};
}

// (self, dim)
Layouts countNonzero(const Stack& arguments) {
  return {contiguous(reducedSizes(tensorAt(arguments, 0), arguments[1], false), at::kLong)};
}

Layouts oneOfAll(const Stack& arguments) {
  return {zeroDim(tensorAt(arguments, 0).scalar_type())};
}

// (self, other)
Layouts dot(const Stack& arguments) {
  const at::Tensor a = tensorAt(arguments, 0), b = tensorAt(arguments, 1);
  TORCH_CHECK(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ",
              b.dim(), "D tensors");
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "dot : expected both vectors to have same dtype, but found ", a.scalar_type(),
              " and ", b.scalar_type());
  TORCH_CHECK(a.numel() == b.numel(), "inconsistent tensor size, expected tensor [", a.numel(),
              "] and src [", b.numel(), "] to have the same number of elements, but got ",
              a.numel(), " and ", b.numel(), " elements respectively");
  return {zeroDim(a.scalar_type())};
}

// (self, dim)
Layouts logCumulativeSum(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  at::maybe_wrap_dim(arguments[1].toInt(), self.dim());
  return {contiguousLike(self)};
}

Layouts trace(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  return {zeroDim(summed(self.scalar_type()))};
}

}  // namespace

void addReductionShapes(ShapeTable& table) {
  table.insert({
      {"std.correction", variance},
      {"var.correction", variance},
      {"std_mean.correction", varianceAndMean},
      {"var_mean.correction", varianceAndMean},
      {"nansum", nansum},
      {"prod", productOfAll},
      {"count_nonzero.dim_IntList", countNonzero},
      {"max", oneOfAll},
      {"min", oneOfAll},
      {"median", oneOfAll},
      {"nanmedian", oneOfAll},
      {"dot", dot},
      {"vdot", dot},
      {"trace", trace},
      {"_logcumsumexp", logCumulativeSum},
  });
}

}  // namespace highwater::simmps

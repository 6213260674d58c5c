#include <ATen/WrapDimUtilsMulti.h>

#include "simmps/shapes.h"

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
      {"dot", oneOfAll},
      {"vdot", oneOfAll},
      {"trace", trace},
      {"_logcumsumexp", contiguousLikeArgument<0>},
  });
}

}  // namespace highwater::simmps

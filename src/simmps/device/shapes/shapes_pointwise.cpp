#include "simmps/device/shapes/shapes.h"

namespace highwater::simmps {
namespace {

template <std::size_t... I>
Layouts sameDtype(const Stack& arguments) {
  return {broadcast({tensorAt(arguments, I)...}, tensorAt(arguments, 0).scalar_type())};
}

template <std::size_t A, std::size_t B>
Layouts promoted(const Stack& arguments) {
  const at::Tensor a = tensorAt(arguments, A), b = tensorAt(arguments, B);
  return {broadcast({a, b}, at::result_type(a, b))};
}

Layouts angle(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto dtype = c10::isComplexType(self.scalar_type())
                         ? c10::toRealValueType(self.scalar_type())
                         : floating(self.scalar_type());
  return {broadcast({self}, dtype)};
}

Layouts isnan(const Stack& arguments) {
  return {broadcast({tensorAt(arguments, 0)}, at::kBool)};
}

Layouts logit(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  return {broadcast({self}, floating(self.scalar_type()))};
}

// (condition, self, other)
Layouts where(const Stack& arguments) {
  const at::Tensor condition = tensorAt(arguments, 0), self = tensorAt(arguments, 1),
                   other = tensorAt(arguments, 2);
  return {broadcast({condition, self, other}, at::result_type(self, other))};
}

// (self, weight), same as with a gradient before them
Layouts preluBackward(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 1), weight = tensorAt(arguments, 2);
  const Layout gradient = broadcast({tensorAt(arguments, 0), self, weight}, self.scalar_type());
  return {gradient, gradient};
}

// (self, other): a shift by a number or a tensor
Layouts shift(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  if (!arguments[1].isTensor()) return {broadcast({self}, self.scalar_type())};
  return promoted<0, 1>(arguments);
}

// (self: number, other)
Layouts remainderOfNumber(const Stack& arguments) {
  const at::Tensor other = tensorAt(arguments, 1);
  return {like(other, at::result_type(arguments[0].toScalar(), other))};
}

// (self) -> (output, buffer)
Layouts logSigmoid(const Stack& arguments) {
  const Layout output = contiguousLike(tensorAt(arguments, 0));
  return {output, output};
}

// (self, shifts, dims)
Layouts roll(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto shifts = arguments[1].toIntVector(), dims = arguments[2].toIntVector();
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  TORCH_CHECK(shifts.size() == dims.size() || (dims.empty() && shifts.size() == 1),
              "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  for (const std::int64_t dim : dims) {
    at::maybe_wrap_dim(dim, self.dim(), /*wrap_scalar=*/false);
  }
  return {contiguousLike(self)};
}

}  // namespace

void addPointwiseShapes(ShapeTable& table) {
  table.insert({
      {"relu", sameDtype<0>},
      {"isnan", isnan},
      {"angle", angle},
      {"logit", logit},
      {"where.self", where},
      {"where.self_out", where},
      {"floor_divide", promoted<0, 1>},
      {"rsub.Tensor", promoted<0, 1>},
      {"remainder.Scalar_Tensor", remainderOfNumber},
      {"__lshift__.Scalar", shift},
      {"__lshift__.Tensor", shift},
      {"__rshift__.Scalar", shift},
      {"__rshift__.Tensor", shift},
      {"hardtanh", likeArgument<0>},
      {"hardtanh_backward", sameDtype<0, 1>},
      {"hardtanh_backward.grad_input", sameDtype<0, 1>},
      {"hardswish", sameDtype<0>},
      {"hardswish_backward", sameDtype<0, 1>},
      {"mish_backward", sameDtype<0, 1>},
      {"silu_backward", sameDtype<0, 1>},
      {"log_sigmoid_forward", logSigmoid},
      {"log_sigmoid_forward.output", logSigmoid},
      {"log_sigmoid_backward", sameDtype<0, 1>},
      {"log_sigmoid_backward.grad_input", sameDtype<0, 1>},
      {"glu_backward", likeArgument<1>},
      {"glu_backward.grad_input", likeArgument<1>},
      {"_prelu_kernel", sameDtype<0, 1>},
      {"_prelu_kernel_backward", preluBackward},
      {"_standard_gamma", likeArgument<0>},
      {"_standard_gamma_grad", sameDtype<0, 1>},
      {"_sample_dirichlet", likeArgument<0>},
      {"_dirichlet_grad", sameDtype<0, 1, 2>},
      {"flip", likeArgument<0>},
      {"roll", roll},
  });
}

}  // namespace highwater::simmps

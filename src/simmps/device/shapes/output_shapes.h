#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <vector>

namespace highwater::simmps {

/// Sizes, strides (both in elements) and dtype of one result of an op.
struct Layout {
  c10::DimVector sizes;
  c10::DimVector strides;
  at::ScalarType dtype = at::kFloat;
  bool wanted = true;  ///< false: the result is an undefined tensor
};
/// The layouts of all results of an op, in the order of its schema.
using Layouts = std::vector<Layout>;

/// Function that infers the layouts of an op's results from its arguments, as its CPU kernel
/// returns them, so that the op can be queued. Returns none if only running the op can tell. Throws
/// PyTorch's errors for mismatched sizes.
using ShapeFunction = Layouts (*)(const torch::jit::Stack& arguments);

/// The shape function of an op, for ops without a Meta kernel in C++; null if there is none. An
/// out= overload uses the plain overload's function.
ShapeFunction shapeFunctionOf(const c10::OperatorName& op);

}  // namespace highwater::simmps

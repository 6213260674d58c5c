#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <vector>

namespace highwater::simmps {

/// Sizes, strides and dtype of one result.
struct Layout {
  c10::DimVector sizes;
  c10::DimVector strides;
  at::ScalarType dtype = at::kFloat;
  bool wanted = true;  ///< false: the op gives an undefined tensor here
};
using Layouts = std::vector<Layout>;

/// The layouts of an op's results from its arguments, as its CPU kernel gives them, so that the op
/// can be queued. Empty where these arguments need the run to tell. Throws PyTorch's errors for
/// sizes that do not fit.
using ShapeFunction = Layouts (*)(const torch::jit::Stack& arguments);

/// For an op without a Meta kernel in C++; null where it has none here either. An out= overload
/// that begins as the plain one shares its function.
ShapeFunction shapeFunctionOf(const c10::OperatorName& op);

}  // namespace highwater::simmps

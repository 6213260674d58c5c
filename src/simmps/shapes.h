#pragma once

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simmps/job_arguments.h"
#include "simmps/output_shapes.h"

// Building blocks of the shape functions; shapes_*.cpp hold one family each.
namespace highwater::simmps {

/// By "name" or "name.overload", without the namespace.
using ShapeTable = std::unordered_map<std::string_view, ShapeFunction>;

/// Each adds its family's functions; an op is in one family only.
void addPointwiseShapes(ShapeTable& table);
void addFactoryShapes(ShapeTable& table);
void addReductionShapes(ShapeTable& table);
void addLossShapes(ShapeTable& table);
void addNormalizationShapes(ShapeTable& table);
void addIndexingShapes(ShapeTable& table);
void addImageShapes(ShapeTable& table);
void addLinearAlgebraShapes(ShapeTable& table);

/// A result that was not asked for.
Layout unwanted();
Layout contiguous(at::IntArrayRef sizes, at::ScalarType dtype);
/// Strides of the memory format; `format` must be one that the number of dimensions allows.
Layout formatted(at::IntArrayRef sizes, at::ScalarType dtype, at::MemoryFormat format);
/// Sizes of `tensor`, contiguous.
Layout contiguousLike(const at::Tensor& tensor);
/// As at::empty_like(): dense tensors keep their strides.
Layout like(const at::Tensor& tensor);
Layout like(const at::Tensor& tensor, at::ScalarType dtype);
/// As at::empty_like(tensor, tensor.suggest_memory_format()).
Layout suggestedLike(const at::Tensor& tensor);
/// A scalar tensor.
Layout zeroDim(at::ScalarType dtype);
/// The result of a TensorIterator over these inputs: broadcast sizes, and its order of strides.
/// Throws PyTorch's error where they do not broadcast.
Layout broadcast(at::ArrayRef<at::Tensor> inputs, at::ScalarType dtype);

/// The default dtype for integers and booleans, the dtype itself for others: exp, mean...
at::ScalarType floating(at::ScalarType dtype);
/// long for integers and booleans, the dtype itself for others: sum, prod...
at::ScalarType summed(at::ScalarType dtype);

/// Argument i; throws where it is no tensor.
inline at::Tensor tensorAt(const Stack& arguments, std::size_t i) {
  return arguments[i].toTensor();
}
/// Undefined where the argument is None.
inline at::Tensor optionalTensorAt(const Stack& arguments, std::size_t i) {
  return arguments[i].isTensor() ? arguments[i].toTensor() : at::Tensor();
}

/// One result, like argument I.
template <std::size_t I>
Layouts likeArgument(const Stack& arguments) {
  return {like(tensorAt(arguments, I))};
}

/// One result, contiguous, with the sizes of argument I.
template <std::size_t I>
Layouts contiguousLikeArgument(const Stack& arguments) {
  return {contiguousLike(tensorAt(arguments, I))};
}

}  // namespace highwater::simmps

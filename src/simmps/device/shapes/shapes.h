#pragma once

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simmps/device/job_arguments.h"
#include "simmps/device/shapes/output_shapes.h"

// Building blocks for shape functions; each shapes_*.cpp holds one family.
namespace highwater::simmps {

/// Maps ops to their shape functions. Keys are "name" or "name.overload", without namespace.
using ShapeTable = std::unordered_map<std::string_view, ShapeFunction>;

// Each op belongs to one family.

/// Adds the shape functions of pointwise ops to the table.
void addPointwiseShapes(ShapeTable& table);
/// Adds the shape functions of ops that create tensors to the table.
void addFactoryShapes(ShapeTable& table);
/// Adds the shape functions of reductions to the table.
void addReductionShapes(ShapeTable& table);
/// Adds the shape functions of loss functions to the table.
void addLossShapes(ShapeTable& table);
/// Adds the shape functions of normalizations to the table.
void addNormalizationShapes(ShapeTable& table);
/// Adds the shape functions of indexing ops to the table.
void addIndexingShapes(ShapeTable& table);
/// Adds the shape functions of image ops to the table.
void addImageShapes(ShapeTable& table);
/// Adds the shape functions of linear algebra to the table.
void addLinearAlgebraShapes(ShapeTable& table);

/// Layout of a result that was not requested (Layout::wanted is false).
Layout unwanted();
/// Layout of a contiguous tensor.
Layout contiguous(at::IntArrayRef sizes, at::ScalarType dtype);
/// Layout with the strides of `format`, which must suit the number of dimensions.
Layout formatted(at::IntArrayRef sizes, at::ScalarType dtype, at::MemoryFormat format);
/// Layout of a contiguous tensor with the sizes and dtype of `tensor`.
Layout contiguousLike(const at::Tensor& tensor);
/// Layout that at::empty_like(tensor) would have: dense tensors keep their strides.
Layout like(const at::Tensor& tensor);
/// Layout that at::empty_like(tensor, dtype) would have: dense tensors keep their strides.
Layout like(const at::Tensor& tensor, at::ScalarType dtype);
/// Layout that at::empty_like(tensor, tensor.suggest_memory_format()) would have.
Layout suggestedLike(const at::Tensor& tensor);
/// Layout of a zero-dimensional tensor.
Layout zeroDim(at::ScalarType dtype);
/// Layout of the result that TensorIterator makes of these inputs: broadcast sizes in its order of
/// strides. Throws PyTorch's c10::Error if they do not broadcast, or if there are none.
Layout broadcast(at::ArrayRef<at::Tensor> inputs, at::ScalarType dtype);

/// Result dtype of exp, mean...: the default dtype for integers and booleans, else `dtype`.
at::ScalarType floating(at::ScalarType dtype);
/// Result dtype of sum, prod...: long for integers and booleans, else `dtype`.
at::ScalarType summed(at::ScalarType dtype);

/// Returns argument `i`, counted from 0; throws c10::Error if it is no tensor.
inline at::Tensor tensorAt(const Stack& arguments, std::size_t i) {
  return arguments[i].toTensor();
}
/// Returns argument `i`, counted from 0; an undefined tensor if it is None or no tensor.
inline at::Tensor optionalTensorAt(const Stack& arguments, std::size_t i) {
  return arguments[i].isTensor() ? arguments[i].toTensor() : at::Tensor();
}

/// Shape function of an op with one result, which is like(argument I, counted from 0). Throws
/// c10::Error if that is no tensor.
template <std::size_t I>
Layouts likeArgument(const Stack& arguments) {
  return {like(tensorAt(arguments, I))};
}

/// Shape function of an op with one contiguous result of the sizes and dtype of argument I, counted
/// from 0. Throws c10::Error if that is no tensor.
template <std::size_t I>
Layouts contiguousLikeArgument(const Stack& arguments) {
  return {contiguousLike(tensorAt(arguments, I))};
}

}  // namespace highwater::simmps

#include "simmps/device/shapes/output_shapes.h"

#include <ATen/TensorIterator.h>
#include <c10/core/MemoryFormat.h>

#include <string>

#include "simmps/device/shapes/shapes.h"
#include "simmps/device/tensors.h"

namespace highwater::simmps {
namespace {

const ShapeTable& shapeTable() {
  static const ShapeTable table = [] {
    ShapeTable all;
    addPointwiseShapes(all);
    addFactoryShapes(all);
    addReductionShapes(all);
    addLossShapes(all);
    addNormalizationShapes(all);
    addIndexingShapes(all);
    addImageShapes(all);
    addLinearAlgebraShapes(all);
    return all;
  }();
  return table;
}

ShapeFunction find(const std::string& name) {
  const auto found = shapeTable().find(name);
  return found == shapeTable().end() ? nullptr : found->second;
}

/// A product of sizes that overflows wraps around; the allocation then refuses it.
c10::DimVector contiguousStrides(at::IntArrayRef sizes) {
  c10::DimVector strides(sizes.size(), 1);
  std::uint64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 1;) {
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[i], 1));
    strides[i - 1] = static_cast<std::int64_t>(stride);
  }
  return strides;
}

}  // namespace

Layout unwanted() {
  return {{}, {}, at::kFloat, /*wanted=*/false};
}

Layout contiguous(at::IntArrayRef sizes, at::ScalarType dtype) {
  return {c10::DimVector(sizes), contiguousStrides(sizes), dtype};
}

Layout formatted(at::IntArrayRef sizes, at::ScalarType dtype, at::MemoryFormat format) {
  if (format == at::MemoryFormat::ChannelsLast) {
    const auto strides = c10::get_channels_last_strides_2d(sizes);
    return {c10::DimVector(sizes), c10::DimVector(strides.begin(), strides.end()), dtype};
  }
  if (format == at::MemoryFormat::ChannelsLast3d) {
    const auto strides = c10::get_channels_last_strides_3d(sizes);
    return {c10::DimVector(sizes), c10::DimVector(strides.begin(), strides.end()), dtype};
  }
  return contiguous(sizes, dtype);
}

Layout contiguousLike(const at::Tensor& tensor) {
  return contiguous(tensor.sizes(), tensor.scalar_type());
}

Layout like(const at::Tensor& tensor) {
  return like(tensor, tensor.scalar_type());
}

Layout like(const at::Tensor& tensor, at::ScalarType dtype) {
  const c10::DimVector strides = tensor.is_non_overlapping_and_dense()
                                     ? c10::DimVector(tensor.strides())
                                     : c10::DimVector(at::empty_like(metaOf(tensor)).strides());
  return {c10::DimVector(tensor.sizes()), strides, dtype};
}

Layout suggestedLike(const at::Tensor& tensor) {
  return formatted(tensor.sizes(), tensor.scalar_type(), tensor.suggest_memory_format());
}

Layout zeroDim(at::ScalarType dtype) {
  return {{}, {}, dtype};
}

Layout broadcast(at::ArrayRef<at::Tensor> inputs, at::ScalarType dtype) {
  TORCH_CHECK(!inputs.empty(), "an op without a tensor among its inputs cannot be broadcast");
  const at::Tensor& first = inputs[0];
  bool allAlike = first.is_non_overlapping_and_dense();
  for (const at::Tensor& input : inputs) {
    allAlike &= input.sizes() == first.sizes() && input.strides() == first.strides();
  }
  if (allAlike) return like(first, dtype);
  at::TensorIteratorConfig config;
  config.check_all_same_dtype(false).declare_static_dtype_and_device(dtype, at::kMeta);
  config.add_owned_output(at::Tensor());
  for (const at::Tensor& input : inputs) config.add_owned_const_input(metaOf(input));
  const auto iterator = config.build();
  const auto& output = iterator.output();
  return {c10::DimVector(output.sizes()), c10::DimVector(output.strides()), dtype};
}

at::ScalarType floating(at::ScalarType dtype) {
  return at::isIntegralType(dtype, /*includeBool=*/true) ? c10::get_default_dtype_as_scalartype()
                                                         : dtype;
}

at::ScalarType summed(at::ScalarType dtype) {
  return at::isIntegralType(dtype, /*includeBool=*/true) ? at::kLong : dtype;
}

ShapeFunction shapeFunctionOf(const c10::OperatorName& op) {
  constexpr std::string_view kNamespace = "aten::";
  if (op.name.compare(0, kNamespace.size(), kNamespace) != 0) return nullptr;
  const std::string name = op.name.substr(kNamespace.size());
  if (op.overload_name.empty()) return find(name);
  if (const auto exact = find(name + "." + op.overload_name)) return exact;
  return op.overload_name == "out" ? find(name) : nullptr;
}

}  // namespace highwater::simmps

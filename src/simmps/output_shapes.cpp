#include "simmps/output_shapes.h"

#include <ATen/TensorIterator.h>
#include <c10/core/MemoryFormat.h>

#include <string>

#include "simmps/shapes.h"
#include "simmps/tensors.h"

namespace highwater::simmps {
namespace {

const ShapeTable& shapeTable() {
  static const ShapeTable table = [] {
    ShapeTable all;
    addPointwiseShapes(all);
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

c10::DimVector contiguousStrides(at::IntArrayRef sizes) {
  c10::DimVector strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<std::int64_t>(sizes[i], 1);
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

Layout broadcast(std::initializer_list<at::Tensor> inputs, at::ScalarType dtype) {
  const at::Tensor& first = *inputs.begin();
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
  if (op.overload_name.empty() || op.overload_name == "out") return find(name);
  return find(name + "." + op.overload_name);
}

}  // namespace highwater::simmps

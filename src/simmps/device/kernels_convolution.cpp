#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "simmps/device/device.h"
#include "simmps/device/op_graphs.h"
#include "simmps/device/registrations.h"
#include "simmps/device/shapes/shapes.h"
#include "simmps/device/tensors.h"

// PyTorch calls convolution_overrideable for a device without a convolution library, after it has
// checked and viewed the arguments. The job is the CPU's convolution of the same arguments.
namespace highwater::simmps {
namespace {

/// A convolution's arguments other than tensors.
struct Geometry {
  std::vector<std::int64_t> stride, padding, dilation, outputPadding;
  bool transposed = false;
  std::int64_t groups = 1;
};

/// The check of Convolution.cpp that PyTorch leaves to devices with their own convolution.
void checkSameType(const at::Tensor& input, const at::Tensor& parameter, const char* name) {
  TORCH_CHECK(!parameter.defined() || input.options().type_equal(parameter.options()),
              "Input type (", input.toString(), ") and ", name, " type (", parameter.toString(),
              ") should be the same");
}

/// Validates sizes. at::convolution() expands its arguments, but a direct call may pass anything.
void checkGeometry(const Geometry& geometry, const at::Tensor& input, const at::Tensor& weight) {
  TORCH_CHECK(input.dim() >= 3 && weight.dim() == input.dim(), "Expected a batch and a weight of ",
              "as many dimensions, 3 or more, but got input of size ", input.sizes(),
              " and weight of size ", weight.sizes());
  const auto dims = static_cast<std::size_t>(input.dim() - 2);
  for (const auto* each :
       {&geometry.stride, &geometry.padding, &geometry.dilation, &geometry.outputPadding}) {
    TORCH_CHECK(each->size() == dims, "Expected ", dims, " values each for stride, padding, ",
                "dilation and output padding, but got ", *each);
  }
  for (const std::int64_t stride : geometry.stride) {
    TORCH_CHECK(stride > 0, "non-positive stride is not supported");
  }
}

std::int64_t outputLength(const Geometry& geometry, std::size_t i, std::int64_t length,
                          std::int64_t kernel) {
  const std::int64_t reach = geometry.dilation[i] * (kernel - 1) + 1;
  if (geometry.transposed) {
    return (length - 1) * geometry.stride[i] - 2 * geometry.padding[i] + reach +
           geometry.outputPadding[i];
  }
  return (length + 2 * geometry.padding[i] - reach) / geometry.stride[i] + 1;
}

c10::DimVector outputSizes(const at::Tensor& input, const at::Tensor& weight,
                           const Geometry& geometry) {
  c10::DimVector sizes{input.size(0),
                       geometry.transposed ? weight.size(1) * geometry.groups : weight.size(0)};
  for (std::int64_t dim = 2; dim < input.dim(); ++dim) {
    sizes.push_back(outputLength(geometry, dim - 2, input.size(dim), weight.size(dim)));
  }
  return sizes;
}

/// Channels last if an argument is, as the CPU's libraries choose.
at::MemoryFormat formatOf(const at::Tensor& input, const at::Tensor& weight) {
  const auto format = input.suggest_memory_format();
  return format == at::MemoryFormat::Contiguous ? weight.suggest_memory_format() : format;
}

at::Tensor make(at::IntArrayRef sizes, const at::Tensor& like, at::MemoryFormat format) {
  const Layout layout = formatted(sizes, like.scalar_type(), format);
  return makeOnDevice(layout.sizes, layout.strides, layout.dtype);
}

at::Tensor aliasOrNothing(const at::Tensor& tensor) {
  return tensor.defined() ? cpuAlias(tensor) : tensor;
}

void write(const at::Tensor& place, const at::Tensor& result) {
  if (!place.defined()) return;
  TORCH_INTERNAL_ASSERT(place.sizes() == result.sizes(), "convolution: the result is ",
                        result.sizes(), "; the simulated mps device expected ", place.sizes());
  place.copy_(result);
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef outputPadding, std::int64_t groups) {
  const at::DisableRecordFunctionGuard unobserved;
  const Geometry geometry{stride.vec(),        padding.vec(), dilation.vec(),
                          outputPadding.vec(), transposed,    groups};
  checkSameType(input, weight, "weight");
  checkSameType(input, bias.value_or(at::Tensor()), "bias");
  checkGeometry(geometry, input, weight);
  at::Tensor output = make(outputSizes(input, weight, geometry), input, formatOf(input, weight));
  // The result's sizes stand for stride, padding and dilation in the graph's key.
  useGraph("aten::convolution", {input, weight, bias.value_or(at::Tensor()), output});
  submitJob("aten::convolution",
            [x = cpuAlias(input), w = cpuAlias(weight),
             b = aliasOrNothing(bias.value_or(at::Tensor())), place = cpuAlias(output), geometry] {
              const auto& [s, p, d, o, isTransposed, groupCount] = geometry;
              write(place, at::convolution(x, w, b, s, p, d, isTransposed, o, groupCount));
            });
  return output;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolutionBackward(
    const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef outputPadding, std::int64_t groups, std::array<bool, 3> wanted) {
  const at::DisableRecordFunctionGuard unobserved;
  const Geometry geometry{stride.vec(),        padding.vec(), dilation.vec(),
                          outputPadding.vec(), transposed,    groups};
  checkSameType(input, weight, "weight");
  checkSameType(input, grad, "gradient");
  checkGeometry(geometry, input, weight);
  const auto format = formatOf(input, weight);
  at::Tensor inputGrad, weightGrad, biasGrad;
  if (wanted[0]) inputGrad = make(input.sizes(), input, format);
  if (wanted[1]) weightGrad = make(weight.sizes(), weight, format);
  if (wanted[2]) biasGrad = make({grad.size(1)}, grad, at::MemoryFormat::Contiguous);
  // A Mac runs one op per gradient (native_functions.yaml: mps_convolution_backward).
  if (wanted[0]) useGraph("aten::convolution_backward input", {grad, weight, inputGrad});
  if (wanted[1]) useGraph("aten::convolution_backward weight", {grad, input, weightGrad});
  if (wanted[2]) useGraph("aten::convolution_backward bias", {grad});
  submitJob("aten::convolution_backward",
            [g = cpuAlias(grad), x = cpuAlias(input), w = cpuAlias(weight), geometry, wanted,
             places = std::array{aliasOrNothing(inputGrad), aliasOrNothing(weightGrad),
                                 aliasOrNothing(biasGrad)}] {
              const auto& [s, p, d, o, isTransposed, groupCount] = geometry;
              const std::vector<std::int64_t> biasSizes{g.size(1)};
              const auto [dx, dw, db] = at::convolution_backward(
                  g, x, w, biasSizes, s, p, d, isTransposed, o, groupCount, wanted);
              write(places[0], dx);
              write(places[1], dw);
              write(places[2], db);
            });
  return {inputGrad, weightGrad, biasGrad};
}

}  // namespace

void registerConvolutionKernels(torch::Library& library) {
  library.impl("convolution_overrideable", &convolution);
  library.impl("convolution_backward_overrideable", &convolutionBackward);
}

}  // namespace highwater::simmps

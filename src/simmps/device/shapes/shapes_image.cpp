#include <ATen/native/Pool.h>

#include <algorithm>
#include <array>
#include <vector>

#include "simmps/device/shapes/shapes.h"

// Pooling, padding, sampling and what unfolds images.
namespace highwater::simmps {
namespace {

// All of these return {} for invalid lengths, and the kernel reports the error.

/// Larger than any image; products of two stay in range.
constexpr std::int64_t kMostLength = std::int64_t(1) << 31;

/// True for a list of `count` numbers that are at least `least`.
bool isList(const std::vector<std::int64_t>& values, std::size_t count, std::int64_t least) {
  const auto isSane = [least](std::int64_t value) {
    return value >= least && value <= kMostLength;
  };
  return values.size() == count && std::all_of(values.begin(), values.end(), isSane);
}

/// True for `spatial` dimensions after the channels, with or without a batch.
bool isImage(const at::Tensor& tensor, std::int64_t spatial) {
  return tensor.dim() == spatial + 1 || tensor.dim() == spatial + 2;
}

/// The sizes of `self` with the last ones replaced by `last`.
c10::DimVector withLast(const at::Tensor& self, at::IntArrayRef last) {
  c10::DimVector sizes(self.sizes().slice(0, self.dim() - static_cast<std::int64_t>(last.size())));
  sizes.append(last.begin(), last.end());
  return sizes;
}

// (self, output_size)
Layouts adaptiveAveragePool2d(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto output = arguments[1].toIntVector();
  if (!isImage(self, 2) || !isList(output, 2, 0)) return {};
  return {formatted(withLast(self, output), self.scalar_type(), self.suggest_memory_format())};
}

// (grad_output, self)
Layouts likeSuggested(const Stack& arguments) {
  return {suggestedLike(tensorAt(arguments, 1))};
}

// (self, indices, output_size, ...)
template <std::int64_t kSpatial>
Layouts maxUnpool(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0), indices = tensorAt(arguments, 1);
  TORCH_CHECK(self.sizes() == indices.sizes(),
              "Expected shape of indices to be same as that of the input tensor (", self.sizes(),
              ") but got indices tensor with shape: ", indices.sizes());
  const auto output = arguments[2].toIntVector();
  if (!isImage(self, kSpatial) || !isList(output, kSpatial, 0)) return {};
  return {formatted(withLast(self, output), self.scalar_type(), self.suggest_memory_format())};
}

// (self, kernel_size, stride, padding, dilation, ceil_mode) -> (output, indices)
Layouts maxPool3d(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  auto lists = std::array{arguments[1].toIntVector(), arguments[2].toIntVector(),
                          arguments[3].toIntVector(), arguments[4].toIntVector()};
  auto& [kernel, stride, padding, dilation] = lists;
  if (stride.empty()) stride = kernel;
  for (auto& list : lists) {
    if (list.size() == 1) list.resize(3, list[0]);
  }
  if (!isImage(self, 3) || !isList(kernel, 3, 1) || !isList(stride, 3, 1) ||
      !isList(padding, 3, 0) || !isList(dilation, 3, 1)) {
    return {};
  }
  c10::DimVector sizes(self.sizes().slice(0, self.dim() - 3));
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t length = self.size(self.dim() - 3 + static_cast<std::int64_t>(i));
    sizes.push_back(at::native::pooling_output_shape<std::int64_t>(
        length, kernel[i], padding[i], stride[i], dilation[i], arguments[5].toBool()));
  }
  const auto format = self.suggest_memory_format();
  return {formatted(sizes, self.scalar_type(), format), formatted(sizes, at::kLong, format)};
}

// (self, padding): pairs, the last dimension first
Layouts padded2d(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto padding = arguments[1].toIntVector();
  if (!isImage(self, 2) || !isList(padding, 4, -kMostLength)) return {};
  c10::DimVector sizes(self.sizes());
  for (std::size_t i = 0; i < 2; ++i) {
    sizes[sizes.size() - 1 - i] += padding[2 * i] + padding[2 * i + 1];
  }
  return {formatted(sizes, self.scalar_type(), self.suggest_memory_format())};
}

// (input, grid, interpolation_mode, padding_mode, align_corners)
Layouts gridSampler(const Stack& arguments) {
  const at::Tensor input = tensorAt(arguments, 0), grid = tensorAt(arguments, 1);
  if (input.dim() != grid.dim() || input.dim() < 4) return {};
  c10::DimVector sizes{input.size(0), input.size(1)};
  for (std::int64_t i = 1; i + 1 < grid.dim(); ++i) sizes.push_back(grid.size(i));
  return {contiguous(sizes, input.scalar_type())};
}

// (grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)
Layouts gridSamplerBackward(const Stack& arguments) {
  const auto wanted = arguments[6].toBoolList();
  if (wanted.size() != 2) return {};
  return {wanted[0] ? contiguousLike(tensorAt(arguments, 1)) : unwanted(),
          contiguousLike(tensorAt(arguments, 2))};
}

std::int64_t slidingPositions(std::int64_t length, std::int64_t kernel, std::int64_t dilation,
                              std::int64_t padding, std::int64_t stride) {
  return (length + 2 * padding - (dilation * (kernel - 1) + 1)) / stride + 1;
}

// (self, kernel_size, dilation, padding, stride)
Layouts im2col(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto kernel = arguments[1].toIntVector(), dilation = arguments[2].toIntVector(),
             padding = arguments[3].toIntVector(), stride = arguments[4].toIntVector();
  if (!isImage(self, 2) || !isList(kernel, 2, 1) || !isList(dilation, 2, 1) ||
      !isList(padding, 2, 0) || !isList(stride, 2, 1)) {
    return {};
  }
  const auto positions = [&](std::size_t i) {
    return slidingPositions(self.size(self.dim() - 2 + static_cast<std::int64_t>(i)), kernel[i],
                            dilation[i], padding[i], stride[i]);
  };
  c10::DimVector sizes(self.sizes().slice(0, self.dim() - 3));
  sizes.push_back(self.size(-3) * kernel[0] * kernel[1]);
  if (positions(0) < 1 || positions(1) < 1) return {};
  sizes.push_back(positions(0) * positions(1));
  return {contiguous(sizes, self.scalar_type())};
}

// (self, output_size, kernel_size, dilation, padding, stride)
Layouts col2im(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto output = arguments[1].toIntVector(), kernel = arguments[2].toIntVector();
  const bool isBatch = self.dim() == 3;
  if ((!isBatch && self.dim() != 2) || !isList(output, 2, 1) || !isList(kernel, 2, 1)) return {};
  c10::DimVector sizes(self.sizes().slice(0, self.dim() - 2));
  sizes.push_back(self.size(-2) / (kernel[0] * kernel[1]));
  sizes.append(output.begin(), output.end());
  return {contiguous(sizes, self.scalar_type())};
}

}  // namespace

void addImageShapes(ShapeTable& table) {
  table.insert({
      {"_adaptive_avg_pool2d", adaptiveAveragePool2d},
      {"adaptive_avg_pool2d", adaptiveAveragePool2d},
      {"_adaptive_avg_pool2d_backward", likeSuggested},
      {"max_pool3d_with_indices", maxPool3d},
      {"max_pool3d_with_indices.out", maxPool3d},
      {"max_pool3d_with_indices_backward", likeSuggested},
      {"max_unpool2d", maxUnpool<2>},
      {"max_unpool3d", maxUnpool<3>},
      {"reflection_pad2d", padded2d},
      {"reflection_pad2d_backward", likeSuggested},
      {"reflection_pad2d_backward.grad_input", likeSuggested},
      {"replication_pad2d_backward", likeSuggested},
      {"replication_pad2d_backward.grad_input", likeSuggested},
      {"replication_pad3d_backward", likeSuggested},
      {"replication_pad3d_backward.grad_input", likeSuggested},
      {"grid_sampler_2d", gridSampler},
      {"grid_sampler_3d", gridSampler},
      {"grid_sampler_2d_backward", gridSamplerBackward},
      {"grid_sampler_3d_backward", gridSamplerBackward},
      {"im2col", im2col},
      {"col2im", col2im},
  });
}

}  // namespace highwater::simmps

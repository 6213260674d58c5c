#include <ATen/native/Pool.h>

#include "simmps/shapes.h"

// Pooling, padding, sampling and what unfolds images.
namespace highwater::simmps {
namespace {

/// All but the last `count` sizes of `self`, then `last`.
c10::DimVector withLast(const at::Tensor& self, at::IntArrayRef last) {
  c10::DimVector sizes(self.sizes().slice(0, self.dim() - static_cast<std::int64_t>(last.size())));
  sizes.append(last.begin(), last.end());
  return sizes;
}

// (self, output_size)
Layouts adaptiveAveragePool2d(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  return {formatted(withLast(self, arguments[1].toIntVector()), self.scalar_type(),
                    self.suggest_memory_format())};
}

// (grad_output, self)
Layouts likeSuggested(const Stack& arguments) {
  return {suggestedLike(tensorAt(arguments, 1))};
}

// (self, indices, output_size, ...)
Layouts maxUnpool(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0), indices = tensorAt(arguments, 1);
  TORCH_CHECK(self.sizes() == indices.sizes(),
              "Expected shape of indices to be same as that of the input tensor (", self.sizes(),
              ") but got indices tensor with shape: ", indices.sizes());
  return {formatted(withLast(self, arguments[2].toIntVector()), self.scalar_type(),
                    self.suggest_memory_format())};
}

// (self, kernel_size, stride, padding, dilation, ceil_mode) -> (output, indices)
Layouts maxPool3d(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto each = [&arguments](std::size_t argument, std::size_t dim) {
    const auto values = arguments[argument].toIntVector();
    return values.size() == 1 ? values[0] : values[dim];
  };
  const bool hasStride = !arguments[2].toIntVector().empty();
  if (self.dim() < 4) return {};  // the kernel says what is wrong
  c10::DimVector sizes(self.sizes().slice(0, self.dim() - 3));
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t length = self.size(self.dim() - 3 + static_cast<std::int64_t>(i));
    sizes.push_back(at::native::pooling_output_shape<std::int64_t>(
        length, each(1, i), each(3, i), each(hasStride ? 2 : 1, i), each(4, i),
        arguments[5].toBool()));
  }
  const auto format = self.suggest_memory_format();
  return {formatted(sizes, self.scalar_type(), format), formatted(sizes, at::kLong, format)};
}

// (self, padding): pairs, the last dimension first
Layouts padded(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto padding = arguments[1].toIntVector();
  c10::DimVector sizes(self.sizes());
  for (std::size_t i = 0; i + 1 < padding.size(); i += 2) {
    sizes[sizes.size() - 1 - i / 2] += padding[i] + padding[i + 1];
  }
  return {formatted(sizes, self.scalar_type(), self.suggest_memory_format())};
}

// (input, grid, interpolation_mode, padding_mode, align_corners)
Layouts gridSampler(const Stack& arguments) {
  const at::Tensor input = tensorAt(arguments, 0), grid = tensorAt(arguments, 1);
  c10::DimVector sizes{input.size(0), input.size(1)};
  for (std::int64_t i = 1; i + 1 < grid.dim(); ++i) sizes.push_back(grid.size(i));
  return {contiguous(sizes, input.scalar_type())};
}

// (grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)
Layouts gridSamplerBackward(const Stack& arguments) {
  const auto wanted = arguments[6].toBoolList();
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
  const auto positions = [&](std::size_t i) {
    return slidingPositions(self.size(self.dim() - 2 + static_cast<std::int64_t>(i)), kernel[i],
                            dilation[i], padding[i], stride[i]);
  };
  c10::DimVector sizes(self.sizes().slice(0, self.dim() - 3));
  sizes.push_back(self.size(-3) * kernel[0] * kernel[1]);
  sizes.push_back(positions(0) * positions(1));
  return {contiguous(sizes, self.scalar_type())};
}

// (self, output_size, kernel_size, dilation, padding, stride)
Layouts col2im(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0);
  const auto output = arguments[1].toIntVector(), kernel = arguments[2].toIntVector();
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
      {"max_unpool2d", maxUnpool},
      {"max_unpool3d", maxUnpool},
      {"reflection_pad2d", padded},
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

#include "core/matmul_shape.h"

#include <array>

#include "core/option_values.h"

namespace highwater {

Result<MatmulShape> parseMatmulShape(std::string_view name, std::string_view text) {
  std::array<std::uint32_t, 3> sides{};
  std::string_view rest = text;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const std::size_t cross = rest.find('x');
    const bool isLast = i + 1 == sides.size();
    const auto side = parseWhole<std::uint32_t>(name, rest.substr(0, cross), 1U, kMostMatmulSide);
    if (!side || isLast != (cross == std::string_view::npos)) {
      return refusedValue(name, text,
                          "MxKxN, three whole numbers from 1 to " +
                              std::to_string(kMostMatmulSide) + ", for example 512x768x3072");
    }
    sides[i] = *side;
    if (!isLast) rest.remove_prefix(cross + 1);
  }
  return MatmulShape{sides[0], sides[1], sides[2]};
}

std::string matmulText(const MatmulShape& shape) {
  return std::to_string(shape.m) + 'x' + std::to_string(shape.k) + 'x' + std::to_string(shape.n);
}

}  // namespace highwater

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace highwater {

/// The shapes of a matrix product: m × k times k × n.
struct MatmulShape {
  std::uint32_t m = 0, k = 0, n = 0;
  bool operator==(const MatmulShape&) const = default;
};

/// The largest m, k or n of a product to measure.
inline constexpr std::uint32_t kMostMatmulSide = 32'768;

/// Parses MxKxN: "512x768x3072". `name` is the option in the message. Fails with kUsage.
[[nodiscard]] Result<MatmulShape> parseMatmulShape(std::string_view name, std::string_view text);

/// The shape as the user writes it: "512x768x3072".
[[nodiscard]] std::string matmulText(const MatmulShape& shape);

}  // namespace highwater

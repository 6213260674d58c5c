#pragma once

#include "core/messages.h"

namespace highwater::test {

/// The limits of a device with PyTorch's default watermark ratios.
constexpr MemoryLimits limitsOf(std::uint64_t recommendedBytes, std::uint64_t systemBytes = 0) {
  return {.recommendedBytes = recommendedBytes,
          .lowWatermarkRatio = 1.4,
          .highWatermarkRatio = 1.7,
          .systemBytes = systemBytes};
}

}  // namespace highwater::test

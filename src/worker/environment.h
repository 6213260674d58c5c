#pragma once

#include <vector>

#include "core/messages.h"

namespace highwater::worker {

/// The variables that matter to a run and their values, absent ones too; then whatever else begins
/// with HIGHWATER_.
[[nodiscard]] std::vector<EnvironmentEntry> environmentThatMatters();

/// Watermark ratios as PyTorch's MPSAllocator reads them: PYTORCH_MPS_HIGH_WATERMARK_RATIO, default
/// 1.7, and PYTORCH_MPS_LOW_WATERMARK_RATIO, default 1.4 (unified memory).
struct WatermarkRatios {
  double low = 1.4;
  double high = 1.7;
};
[[nodiscard]] WatermarkRatios watermarkRatios();

}  // namespace highwater::worker

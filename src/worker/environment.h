#pragma once

#include <vector>

#include "core/messages.h"

namespace highwater::worker {

/// The variables that matter to a run and their values, absent ones too; then whatever else begins
/// with HIGHWATER_.
[[nodiscard]] std::vector<EnvironmentEntry> environmentThatMatters();

/// Sets what the scenario of the command line wants of the environment, where a variable is unset.
/// True where that changed something: libtorch reads some of it while it is loaded. An unknown
/// scenario is for parseOptions() to refuse.
bool setScenarioEnvironment(int argc, const char* const* argv);

/// Watermark ratios as PyTorch's MPSAllocator reads them: PYTORCH_MPS_HIGH_WATERMARK_RATIO, default
/// 1.7, and PYTORCH_MPS_LOW_WATERMARK_RATIO, default 1.4 (unified memory).
struct WatermarkRatios {
  double low = 1.4;
  double high = 1.7;
};
[[nodiscard]] WatermarkRatios watermarkRatios();

}  // namespace highwater::worker

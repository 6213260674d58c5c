#pragma once

#include <vector>

#include "core/messages.h"

namespace highwater::process {

/// Returns the environment variables that influence a run, with their values; unset ones too. After
/// them come others that begin with HIGHWATER_, as many as fit into a frame, cut to 4 KiB.
[[nodiscard]] std::vector<EnvironmentEntry> relevantEnvironment();

/// Sets the environment variables that the --scenario of the command line asks for, where they are
/// unset. Returns whether one was set: the program must then be restarted, because libtorch reads
/// some of them while it is loaded. Ignores an unknown scenario, which parseOptions() refuses.
bool setScenarioEnvironment(int argc, const char* const* argv);

/// The memory limits of PyTorch's MPSAllocator, as multiples of the recommended maximum. The
/// defaults are PyTorch's on unified memory.
struct WatermarkRatios {
  double low = 1.4;
  double high = 1.7;
};
/// Reads PYTORCH_MPS_LOW_WATERMARK_RATIO and PYTORCH_MPS_HIGH_WATERMARK_RATIO. A value that is
/// unset or outside 0 to 2 gives the default.
[[nodiscard]] WatermarkRatios watermarkRatios();

}  // namespace highwater::process

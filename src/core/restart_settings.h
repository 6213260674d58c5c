#pragma once

#include <string>

namespace highwater {

/// The settings of a run that PyTorch reads while it loads, so that they only change with a new
/// worker.
struct RestartSettings {
  std::string device = "auto";  ///< auto, mps, sim or cpu
  bool fallback = false;        ///< ops without an MPS kernel run on the CPU
  double highWatermark = 1.7;   ///< multiple of recommended max; 0: no limit
  double lowWatermark = 1.4;    ///< 0: nothing is collected

  bool operator==(const RestartSettings&) const = default;
};

}  // namespace highwater

#pragma once

#include "core/benchmark_choice.h"
#include "core/result.h"

namespace highwater::worker {

/// What a benchmark of the CPU against the device measures, with nothing left open.
struct BenchmarkOptions : BenchmarkChoice {
  bool allRounds = false;  ///< `rounds` was given

  [[nodiscard]] bool needsModel() const { return step || drift; }
};

/// Converts and checks the options, and fills in what they leave open. Fails with kUsage; the
/// message names the option.
[[nodiscard]] Result<BenchmarkOptions> readBenchmarkOptions(const BenchmarkTexts& texts);

}  // namespace highwater::worker

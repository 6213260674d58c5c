#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "worker/training/training.h"

namespace highwater::worker {

/// Prints a line; returns false once nobody reads any more.
using LinePrinter = std::function<bool(const nlohmann::ordered_json&)>;

/// Measures the CPU against MPS, as `setup.options->benchmark` says; `setup` is that of a run on
/// `mps`. Prints objects, told by their `kind`: a `start`, then `timing` and `drift` as they are
/// measured, `refused` for what the device or PyTorch does not allow, `progress` in between, and
/// an `end`. Raw measurements only: statistics are made by who reads them (tuning/benchmark.h).
/// Returns kEnded where nobody reads.
[[nodiscard]] Result<void> benchmark(const TrainingSetup& setup, const LinePrinter& print);

}  // namespace highwater::worker

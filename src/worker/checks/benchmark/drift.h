#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "worker/training/training.h"

namespace highwater::worker {

/// The batches on which the devices are compared.
inline constexpr std::uint32_t kDriftBatches = 4;

/// Computes the loss and the gradients of the same batches with the same weights on the CPU, on
/// MPS, and on the CPU in float64, without dropout, which draws other numbers on each device.
/// `progress` is called before each of them, with the number of those that are done; there are
/// 3 · kDriftBatches.
///
/// Returns an object: `loss` of each batch, and for each module `mps`, the error of MPS against the
/// CPU, and `rounding`, the error of the CPU against float64, which only rounding makes; see
/// ErrorSums::json(). `outputs` are those of the forward pass, `gradients` those of the module's
/// parameters. Without float64 `rounding` is null, and `no_float64` says why. Throws what the
/// workload throws, and std::runtime_error where the batches differ.
[[nodiscard]] nlohmann::ordered_json measureDrift(
    const TrainingSetup& setup, Precision cpuPrecision, Precision mpsPrecision,
    const std::function<void(std::uint32_t)>& progress);

}  // namespace highwater::worker

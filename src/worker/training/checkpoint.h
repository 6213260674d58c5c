#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "core/checkpoint_slots.h"
#include "core/result.h"
#include "worker/training/workload.h"

namespace highwater::worker {

/// Writes a checkpoint of the training after `step`: the model's tensors, the state of its
/// AtomicAdamW, PyTorch's generators of the host and of `device`, and the place in the data. Waits
/// for the device, and needs as much host memory as the largest tensor. Error: kFailed with what
/// libtorch or the system says.
[[nodiscard]] Result<void> writeCheckpoint(const CheckpointSlots& files, std::uint32_t step,
                                           const Workload& workload, const torch::Device& device);

/// Restores the newest checkpoint into `workload`, which must be of the same model and data, and
/// returns its step. It may have been written on another device. The generator of that one then
/// goes on as the generator of `device` where both are of the same kind, as those of the CPU and of
/// the simulated device are; else `device` keeps its own. After an error the workload must not be
/// trained. Errors: those of CheckpointSlots::Reader::open(); kMalformed where the checkpoint is of
/// another model or data; kOutOfMemory where memory is used up.
[[nodiscard]] Result<std::uint32_t> restoreCheckpoint(const CheckpointSlots& files,
                                                      Workload& workload,
                                                      const torch::Device& device);

}  // namespace highwater::worker

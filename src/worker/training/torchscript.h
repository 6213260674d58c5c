#pragma once

#include <memory>

#include "worker/training/training.h"
#include "worker/training/workload.h"

namespace highwater::worker {

/// Makes a workload of the TorchScript file that `setup.options->workload` names, with random
/// batches as `setup.model` describes them. Loads the model, calls it once on the CPU, and moves it
/// to `device`. `setup` must outlive it. Throws std::runtime_error, with one line for the user,
/// where the file is no TorchScript, the model has nothing to train, or it does not take its inputs
/// or give what the loss needs.
[[nodiscard]] std::unique_ptr<Workload> makeTorchScript(const TrainingSetup& setup,
                                                        const torch::Device& device);

}  // namespace highwater::worker

#pragma once

#include <memory>

#include "worker/training/training.h"
#include "worker/training/workload.h"

namespace highwater::worker {

/// Makes the built-in workload, an IssueClassifier that is trained on the texts of `setup.data`:
/// builds the vocabulary and, on `device`, the model. `setup` must outlive it. Throws where a
/// scenario is unknown or memory is used up.
[[nodiscard]] std::unique_ptr<Workload> makeClassifier(const TrainingSetup& setup,
                                                       const torch::Device& device);

}  // namespace highwater::worker

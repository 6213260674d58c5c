#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>

#include "worker/training/training.h"
#include "worker/training/workload.h"

namespace highwater::worker {

/// The name of a precision as PyTorch's type.
[[nodiscard]] torch::ScalarType scalarType(Precision precision);

/// A workload on one device, for a benchmark: the steps that a run would train, without the probe
/// and without reading the loss. Two of the same seed and setup draw the same batches.
class TrainingStep {
 public:
  /// Builds the workload. `setup` must outlive it. Throws as its maker does, and
  /// std::runtime_error where the device has no such precision.
  TrainingStep(const TrainingSetup& setup, const std::string& device, Precision precision);

  /// Trains a step and does not wait for the device.
  void train();
  /// Assembles the next batch on the device, for loss(). The model is switched to evaluation.
  void take();
  /// Runs the model on the batch.
  [[nodiscard]] torch::Tensor loss();
  [[nodiscard]] Workload& workload() { return *workload_; }

 private:
  const TrainingSetup& setup_;
  torch::Device device_;
  Precision precision_;
  std::unique_ptr<Workload> workload_;
};

}  // namespace highwater::worker

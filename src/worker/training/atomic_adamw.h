#pragma once

#include <torch/optim/adamw.h>

#include <vector>

namespace highwater::worker {

/// The weight decay of the workloads: AdamW's default in Python.
inline constexpr double kWeightDecay = 0.01;

/// AdamW that changes either all parameters in a step or none, also where memory runs out in it:
/// state and scratch memory are allocated before the first parameter is changed, and nothing
/// afterwards. Its values equal those of torch::optim::AdamW to the bit. Without amsgrad and sparse
/// gradients.
class AtomicAdamW final : public torch::optim::AdamW {
 public:
  using AdamW::AdamW;

  /// Throws c10::Error where memory runs out, and for a sparse gradient.
  torch::Tensor step(LossClosure closure = nullptr) override;

  /// Whether the last step() threw when some parameters may have been changed and others not.
  [[nodiscard]] bool isMidway() const { return midway_; }

 private:
  [[nodiscard]] torch::optim::AdamWParamState& stateOf(const torch::Tensor& parameter);
  void makeState();
  [[nodiscard]] std::vector<torch::Tensor> makeScratch();

  bool midway_ = false;
};

}  // namespace highwater::worker

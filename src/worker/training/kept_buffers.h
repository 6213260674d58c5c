#pragma once

#include <torch/torch.h>

#include <vector>

namespace highwater::worker {

/// Copies of a model's buffers, from before a step, for the step that is dropped after its forward
/// pass has advanced them. The copies are on the buffers' device and are reused from step to step;
/// a model without buffers costs nothing.
class KeptBuffers {
 public:
  /// Copies the buffers. Throws where memory runs out; then restore() does nothing.
  void keep(const std::vector<torch::Tensor>& buffers);
  /// Writes the kept values into the buffers, which are as many as keep() got. Allocates nothing.
  void restore(const std::vector<torch::Tensor>& buffers) const;

 private:
  std::vector<torch::Tensor> copies_;
  bool isWhole_ = false;
};

}  // namespace highwater::worker

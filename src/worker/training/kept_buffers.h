#pragma once

#include <torch/torch.h>

#include <vector>

namespace highwater::worker {

/// Copies of a model's buffers, from before a step, for the step that is dropped after its forward
/// pass has advanced them. The copies are on the buffers' device, where they take as much memory as
/// the buffers for as long as they are kept, and each keep() queues one copy a buffer; it runs
/// before the step, outside of its time and phases. A model without buffers costs nothing.
class KeptBuffers {
 public:
  /// Copies the buffers. Throws where memory runs out; then restore() does nothing.
  void keep(const std::vector<torch::Tensor>& buffers);
  /// Frees the copies; restore() then does nothing.
  void release();
  /// Writes the kept values into the buffers, which are as many as keep() got. Allocates nothing.
  void restore(const std::vector<torch::Tensor>& buffers) const;

 private:
  std::vector<torch::Tensor> copies_;
  bool isWhole_ = false;
};

}  // namespace highwater::worker

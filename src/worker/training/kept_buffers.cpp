#include "worker/training/kept_buffers.h"

#include <algorithm>

namespace highwater::worker {
namespace {

bool fits(const torch::Tensor& copy, const torch::Tensor& buffer) {
  return copy.defined() && copy.sizes() == buffer.sizes() && copy.dtype() == buffer.dtype() &&
         copy.device() == buffer.device();
}

}  // namespace

void KeptBuffers::keep(const std::vector<torch::Tensor>& buffers) {
  isWhole_ = false;
  if (buffers.empty()) return;
  const torch::NoGradGuard noGrad;
  copies_.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (fits(copies_[i], buffers[i])) {
      copies_[i].copy_(buffers[i], /*non_blocking=*/true);
    } else {
      copies_[i] = buffers[i].detach().clone();
    }
  }
  isWhole_ = true;
}

void KeptBuffers::release() {
  copies_.clear();
  isWhole_ = false;
}

void KeptBuffers::restore(const std::vector<torch::Tensor>& buffers) const {
  if (!isWhole_) return;
  const torch::NoGradGuard noGrad;
  for (std::size_t i = 0; i < std::min(buffers.size(), copies_.size()); ++i) {
    torch::Tensor buffer = buffers[i];
    if (fits(copies_[i], buffer)) buffer.copy_(copies_[i], /*non_blocking=*/true);
  }
}

}  // namespace highwater::worker

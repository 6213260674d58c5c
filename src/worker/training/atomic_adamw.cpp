#include "worker/training/atomic_adamw.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace highwater::worker {
namespace {

using torch::optim::AdamWOptions;
using torch::optim::AdamWParamState;

/// Updates one parameter, as AdamW::step() does. `scratch` has at least as many elements. No op of
/// it allocates.
void update(torch::Tensor& parameter, AdamWParamState& state, const AdamWOptions& options,
            const torch::Tensor& scratch) {
  const torch::Tensor& gradient = parameter.grad();
  if (options.weight_decay() != 0) parameter.mul_(1 - options.lr() * options.weight_decay());
  state.step(state.step() + 1);
  const auto [beta1, beta2] = options.betas();
  const auto steps = static_cast<double>(state.step());
  const double correction1 = 1 - std::pow(beta1, steps);
  const double correction2 = 1 - std::pow(beta2, steps);
  torch::Tensor& mean = state.exp_avg();
  torch::Tensor& square = state.exp_avg_sq();
  mean.mul_(beta1).add_(gradient, 1 - beta1);
  square.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
  // With the strides of `square`, for which the op would otherwise need memory on MPS.
  torch::Tensor divisor = scratch.as_strided(square.sizes(), square.strides());
  at::sqrt_out(divisor, square);
  divisor.div_(std::sqrt(correction2)).add_(options.eps());
  parameter.addcdiv_(mean, divisor, -options.lr() / correction1);
}

}  // namespace

torch::Tensor AtomicAdamW::step(LossClosure closure) {
  const torch::NoGradGuard noGrad;
  torch::Tensor loss;
  if (closure) {
    const at::AutoGradMode withGrad(true);
    loss = closure();
  }
  makeState();
  const std::vector<torch::Tensor> scratch = makeScratch();
  midway_ = true;
  for (auto& group : param_groups_) {
    const auto& options = static_cast<const AdamWOptions&>(group.options());
    for (torch::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      AdamWParamState& state = stateOf(parameter);
      const auto fits =
          std::find_if(scratch.begin(), scratch.end(), [&](const torch::Tensor& each) {
            return each.device() == parameter.device() && each.dtype() == parameter.dtype();
          });
      update(parameter, state, options, *fits);
    }
  }
  midway_ = false;
  return loss;
}

AdamWParamState& AtomicAdamW::stateOf(const torch::Tensor& parameter) {
  return static_cast<AdamWParamState&>(*state_.at(parameter.unsafeGetTensorImpl()));
}

void AtomicAdamW::makeState() {
  for (const auto& group : param_groups_) {
    for (const torch::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      TORCH_CHECK(!parameter.grad().is_sparse(), "AdamW does not support sparse gradients");
      void* const key = parameter.unsafeGetTensorImpl();
      if (state_.find(key) != state_.end()) continue;
      auto state = std::make_unique<AdamWParamState>();
      state->exp_avg(torch::zeros_like(parameter, torch::MemoryFormat::Preserve));
      state->exp_avg_sq(torch::zeros_like(parameter, torch::MemoryFormat::Preserve));
      state_[key] = std::move(state);
    }
  }
}

/// One tensor for each device and type of the parameters, as large as the largest of them.
std::vector<torch::Tensor> AtomicAdamW::makeScratch() {
  std::vector<torch::Tensor> largest;
  for (const auto& group : param_groups_) {
    for (const torch::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      const auto same =
          std::find_if(largest.begin(), largest.end(), [&](const torch::Tensor& each) {
            return each.device() == parameter.device() && each.dtype() == parameter.dtype();
          });
      if (same == largest.end()) {
        largest.push_back(parameter);
      } else if (same->numel() < parameter.numel()) {
        *same = parameter;
      }
    }
  }
  std::vector<torch::Tensor> scratch;
  for (const torch::Tensor& each : largest) {
    scratch.push_back(torch::empty({each.numel()}, each.options().requires_grad(false)));
  }
  return scratch;
}

}  // namespace highwater::worker

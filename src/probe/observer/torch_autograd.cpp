#include "probe/observer/torch_autograd.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

namespace highwater::probe {
namespace {

AutogradPlace place() noexcept {
  const auto node = torch::autograd::get_current_node();
  return {at::RecordFunction::currentThreadId(),
          static_cast<std::int64_t>(at::sequence_number::peek()), node.get()};
}

RunningNode runningNode() noexcept {
  const auto node = torch::autograd::get_current_node();
  if (!node) return {};
  // AccumulateGrad has the largest number there is, which becomes -1.
  return {node.get(), node->thread_id(), static_cast<std::int64_t>(node->sequence_nr())};
}

}  // namespace

Autograd torchAutograd() {
  return {&place, &runningNode};
}

}  // namespace highwater::probe

#pragma once

#include <ATen/ATen.h>
#include <ATen/core/stack.h>

#include <functional>

namespace highwater::simmps {

using Stack = torch::jit::Stack;
using MapTensor = at::Tensor (*)(const at::Tensor&);

/// The tensor as a job may use it: device memory as a CPU tensor, a copy of a CPU tensor (the
/// caller may change its own before the job runs).
at::Tensor forJob(const at::Tensor& tensor);

/// The tensor as a Meta kernel may use it. A wrapped number stays as it is: type promotion reads
/// it.
at::Tensor forMeta(const at::Tensor& tensor);

/// Replaces the defined tensors of one argument or result, alone, in lists and in optional lists.
void mapTensors(c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& map);

/// All arguments, their tensors replaced.
Stack mapped(Stack arguments, MapTensor map);

/// Calls `visit` for each defined tensor of an argument, alone or in a list.
template <typename Visit>
void forEachTensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& each : value.toListRef()) {
      if (each.isTensor() && each.toTensor().defined()) visit(each.toTensor());
    }
  }
}

}  // namespace highwater::simmps

#pragma once

#include <ATen/ATen.h>
#include <ATen/core/stack.h>

#include <functional>

namespace highwater::simmps {

/// The arguments, or the results, of one call of an op.
using Stack = torch::jit::Stack;
/// Function that replaces one tensor, such as forJob() or forMeta().
using MapTensor = at::Tensor (*)(const at::Tensor&);

/// Makes a CPU tensor that a job can use in place of `tensor`: an alias of device memory, or a copy
/// of a CPU tensor, since the caller may change it before the job runs. Throws
/// c10::OutOfMemoryError if the device has no room for the copy of a zero-dimensional tensor.
at::Tensor forJob(const at::Tensor& tensor);

/// Makes a Meta tensor (without data) that stands for `tensor` in a Meta kernel, which only
/// computes sizes. Python numbers wrapped as tensors stay, since type promotion needs their values.
at::Tensor forMeta(const at::Tensor& tensor);

/// Replaces each defined tensor in one argument or result by map(tensor), also in lists and lists
/// of optional tensors.
void mapTensors(c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& map);

/// Returns a copy of the arguments in which `map` has replaced each defined tensor, also in lists.
Stack mapped(Stack arguments, MapTensor map);

/// Calls visit(tensor) for each defined tensor in one argument of an op, also in a list.
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

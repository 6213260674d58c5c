#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Scalar.h>

#include "probe/observer/thread_op_stack.h"

/// The kernels of watched ops: each observes its op on the stack of the calling thread and calls
/// the op's next kernel. They are plain functions, so that one may run on while it is deregistered.
namespace highwater::probe {

/// The key of the kernels: see WatchedOps.
inline constexpr c10::DispatchKey kWatchKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

/// Returns the keys that follow `key` among the keys of a call.
[[nodiscard]] inline c10::DispatchKeySet keysAfter(c10::DispatchKey key, c10::DispatchKeySet keys) {
  return keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, key);
}

/// The ops that have kernels with their own arguments: aten::copy_ and aten::_local_scalar_dense.
/// They are called often, and mostly on the CPU, where they do not wait. Such a kernel takes a few
/// ns; one for any op takes 150, because PyTorch puts the arguments on a stack that it allocates.
using CopyOp = c10::TypedOperatorHandle<at::Tensor&(at::Tensor&, const at::Tensor&, bool)>;
using ScalarReadOp = c10::TypedOperatorHandle<at::Scalar(const at::Tensor&)>;
[[nodiscard]] CopyOp copyOp();
[[nodiscard]] ScalarReadOp scalarReadOp();

/// Returns the kernel that observes the op of that name. `mayFallBack` is true for an op that
/// PyTorch may run on the CPU.
[[nodiscard]] c10::KernelFunction watchedKernel(const c10::OperatorName& name, bool mayFallBack);

}  // namespace highwater::probe

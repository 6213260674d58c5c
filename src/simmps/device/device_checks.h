#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "simmps/device/job_arguments.h"
#include "simmps/device/op_traits.h"

namespace highwater::simmps {

/// Checks that the tensors that an op writes are on the device, and those that it reads too, except
/// zero-dimensional CPU tensors, indices and lengths. `values` are the op's arguments. Throws
/// PyTorch's c10::Error if not.
void checkDevices(const c10::OperatorHandle& op, const OpTraits& traits, const Stack& values);

}  // namespace highwater::simmps

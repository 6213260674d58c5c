#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "simmps/device/job_arguments.h"
#include "simmps/device/op_traits.h"

namespace highwater::simmps {

/// Checks that all tensors among `values`, the op's arguments, are on the device. Two kinds may be
/// on the CPU: zero-dimensional tensors that are neither written nor indexed, and the argument
/// OpTraits::hostArgument (the indices of index and index_put_, the lengths of a packed sequence).
/// Throws PyTorch's c10::Error otherwise.
void checkDevices(const c10::OperatorHandle& op, const OpTraits& traits, const Stack& values);

}  // namespace highwater::simmps

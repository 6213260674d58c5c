#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "simmps/job_arguments.h"
#include "simmps/op_traits.h"

namespace highwater::simmps {

/// What an op writes must be on the device, and so must what it reads but for numbers (tensors of
/// no dimensions), indices and lengths. Throws what PyTorch throws where it is not.
void checkDevices(const c10::OperatorHandle& op, const OpTraits& traits, const Stack& values);

}  // namespace highwater::simmps

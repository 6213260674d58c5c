#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace highwater::simmps {

/// A host tensor that a job may hold beyond its caller's life: on any thread the last copy of the
/// pointer gives the tensor to releaseReturnedTensors(), instead of ending it there. What ends host
/// memory may want the interpreter's lock (numpy's arrays do), which a host thread may hold while
/// it waits for the device. Never null.
std::shared_ptr<at::Tensor> lendToJob(at::Tensor host);

/// Ends what jobs have given back. For host threads, holding no lock of ours; costs one atomic read
/// where there is nothing. At exit() it does nothing: the interpreter is gone by then, and what
/// jobs still give back is left to the system.
void releaseReturnedTensors();

}  // namespace highwater::simmps

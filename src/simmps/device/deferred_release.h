#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace highwater::simmps {

/// Lets a job own a host tensor without destroying it: the last copy of the pointer, on whatever
/// thread, passes the tensor to releaseDeferred(). Destroying host memory may take Python's
/// interpreter lock (numpy arrays do), which a host thread may hold while it waits for the device.
/// Never null.
std::shared_ptr<at::Tensor> deferRelease(at::Tensor host);

/// Destroys the tensors that jobs have released. Call on host threads, without holding a lock of
/// the device. Costs one atomic read if there are none. Does nothing during exit(): the interpreter
/// is gone then, and the system reclaims the memory.
void releaseDeferred();

}  // namespace highwater::simmps

#pragma once

#include <ATen/ATen.h>

namespace highwater::simmps {

/// A new tensor on the device. Throws PyTorch's TypeError text for float64 and complex128, which
/// MPS does not have, and out of memory as the allocator does.
at::Tensor makeOnDevice(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype);

/// Throws PyTorch's TypeError text for dtypes that MPS does not have.
void checkDtype(at::ScalarType dtype);

/// A CPU tensor on the same memory as a device tensor, for jobs. It does not own the memory: blocks
/// go back to the cache while jobs still use them, and the queue's order protects them; only
/// release to the system waits for the jobs. Throws for a tensor that is on another device: a job
/// would not own its memory.
at::Tensor cpuAlias(const at::Tensor& tensor);

/// A CPU tensor's storage under a tensor of our own, so that no job holds (and so may destroy) a
/// tensor that Python knows. Its memory may still be Python's: lendToJob().
at::Tensor jobOwned(const at::Tensor& cpuTensor);

/// A view of the memory of `base`, a device tensor, laid out as `onCpu`: a view of its cpuAlias().
at::Tensor viewLike(const at::Tensor& base, const at::Tensor& onCpu);

/// A tensor without data of the same sizes, strides and dtype, for shape functions.
at::Tensor metaOf(const at::Tensor& tensor);

/// True for a tensor that a Python program holds or has held.
bool isKnownToPython(const at::Tensor& tensor);

/// Grows the storage where the tensor's new sizes need it, as resize_.
const at::Tensor& resizeOnDevice(const at::Tensor& tensor, at::IntArrayRef sizes,
                                 std::optional<at::MemoryFormat> format);

}  // namespace highwater::simmps

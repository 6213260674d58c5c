#pragma once

#include <ATen/ATen.h>

namespace highwater::simmps {

/// Creates a tensor on the device, with uninitialized values. Throws PyTorch's TypeError for
/// float64 and complex128, which MPS does not have, and the errors of Allocator::allocate().
at::Tensor makeOnDevice(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype);

/// Throws PyTorch's TypeError for dtypes that MPS does not have: float64 and complex128.
void checkDtype(at::ScalarType dtype);

/// Makes a CPU tensor on the memory of a device tensor, for jobs. It does not own the memory: a
/// freed block may go back to the cache while jobs use it, since the queue's order protects it, and
/// the allocator waits for jobs before it returns memory to the system. Throws c10::Error for a
/// tensor on another device.
at::Tensor cpuAlias(const at::Tensor& tensor);

/// Makes a new tensor on a CPU tensor's storage, so that no job holds, and maybe destroys, a tensor
/// that Python knows. The storage may still be Python's: see deferRelease().
at::Tensor jobOwned(const at::Tensor& cpuTensor);

/// Makes a view of device tensor `base` with the layout of `onCpu`, which is a view of
/// cpuAlias(base).
at::Tensor viewLike(const at::Tensor& base, const at::Tensor& onCpu);

/// Makes a Meta tensor (without data) of the same sizes, strides and dtype, for computing the
/// shapes of results.
at::Tensor metaOf(const at::Tensor& tensor);

/// True for a tensor that has, or had, a Python object.
bool isKnownToPython(const at::Tensor& tensor);

/// Resizes a device tensor in place, as Tensor.resize_() does: sets its sizes, and grows its
/// storage if needed, keeping the contents. Returns `tensor`. Throws the errors of
/// Allocator::allocate().
const at::Tensor& resizeOnDevice(const at::Tensor& tensor, at::IntArrayRef sizes,
                                 std::optional<at::MemoryFormat> format);

}  // namespace highwater::simmps

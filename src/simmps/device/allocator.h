#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

#include <string>

#include "simmps/policy/heap_allocator.h"
#include "simmps/torch_version.h"

#if HIGHWATER_TORCH_AT_LEAST(2, 9)
#include <c10/core/CachingDeviceAllocator.h>
#endif

namespace highwater::simmps {

/// The only device of the type "mps".
inline const c10::Device kDevice(c10::DeviceType::MPS, 0);

#if HIGHWATER_TORCH_AT_LEAST(2, 9)
/// libtorch's base class of device allocators, which has statistics since PyTorch 2.9.
using AllocatorBase = c10::DeviceAllocator;
#else
/// libtorch's base class of allocators before PyTorch 2.9, without statistics.
using AllocatorBase = c10::Allocator;
#endif

/// Makes deviceMemory() libtorch's allocator for mps:0, with PyTorch's out-of-memory error and, in
/// PyTorch 2.9 and later, device statistics with exact peaks.
class Allocator final : public AllocatorBase {
 public:
  /// Allocates `bytes` of device memory. Throws c10::OutOfMemoryError, or c10::Error if `bytes` is
  /// not below Settings::maxBufferBytes.
  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  /// Queues a job that copies between two blocks of device memory.
  void copy_data(void* dst, const void* src, std::size_t bytes) const override;

#if HIGHWATER_TORCH_AT_LEAST(2, 9)
  bool initialized() override {
    return true;
  }
  /// Releases the cached memory of all pools, whatever `pool` is. Waits for the device.
  void emptyCache(c10::MempoolId_t pool = {0, 0}) override;
  void recordStream(const c10::DataPtr&, c10::Stream) override {}  // there is one stream
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override;
  void resetAccumulatedStats(c10::DeviceIndex device) override;
  void resetPeakStats(c10::DeviceIndex device) override;
#endif
};

/// Copies a zero-dimensional host tensor for a job to read, since the caller may change its own
/// before the job runs. The copy lies in the device's pool for scalars (PoolKind::Scalar) and
/// counts in currentBytes until the job has ended. Throws c10::OutOfMemoryError.
at::Tensor scalarForJob(const at::Tensor& host);

/// The process's only allocator for device mps, created at the first call. Never null.
Allocator* deviceAllocator();

/// Writes PyTorch's error text for a refused allocation. "MPS allocated" are the heaps, "other
/// allocations" the rest of the driver's memory. Up to 2.12, PyTorch named private pools for most
/// tensors.
std::string outOfMemoryText(const OutOfMemory& refused);
/// Throws c10::OutOfMemoryError with outOfMemoryText(); with Settings::plainOutOfMemory its base
/// class c10::Error, as PyTorch 2.13 does on a Mac.
[[noreturn]] void throwOutOfMemory(const OutOfMemory& refused);

}  // namespace highwater::simmps

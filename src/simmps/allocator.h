#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

#include <string>

#include "simmps/heap_allocator.h"
#include "simmps/torch_version.h"

#if HIGHWATER_TORCH_AT_LEAST(2, 9)
#include <c10/core/CachingDeviceAllocator.h>
#endif

namespace highwater::simmps {

#if HIGHWATER_TORCH_AT_LEAST(2, 9)
using AllocatorBase = c10::DeviceAllocator;
#else
using AllocatorBase = c10::Allocator;
#endif

/// libtorch's view of deviceMemory(): allocations under device mps:0, PyTorch's out-of-memory
/// error, and, where c10 has them (2.9+), device statistics with exact peaks.
class Allocator final : public AllocatorBase {
 public:
  /// Throws c10::OutOfMemoryError, or c10::Error where one buffer is over maxBufferBytes.
  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* dst, const void* src, std::size_t bytes) const override;

#if HIGHWATER_TORCH_AT_LEAST(2, 9)
  bool initialized() override {
    return true;
  }
  void emptyCache(c10::MempoolId_t pool = {0, 0}) override;
  void recordStream(const c10::DataPtr&, c10::Stream) override {}  // there is one stream
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override;
  void resetAccumulatedStats(c10::DeviceIndex device) override;
  void resetPeakStats(c10::DeviceIndex device) override;
#endif
};

/// A copy of a host tensor of no dimensions for a job to read: the caller may change its own before
/// the job runs. It lies in the device's scalar pool, counts as current until the job is over, and
/// throws as an allocation does.
at::Tensor scalarForJob(const at::Tensor& host);

/// The process's one allocator for mps.
Allocator* deviceAllocator();

/// PyTorch's text for an allocation that was refused: "MPS allocated" is what its heaps hold,
/// "other allocations" what else driver counts. Up to 2.12 most tensors lay in pools that it calls
/// private.
std::string outOfMemoryText(const OutOfMemory& refused);
/// Throws it as c10::OutOfMemoryError, which catches as the plain c10::Error that PyTorch throws on
/// a Mac (2.13).
[[noreturn]] void throwOutOfMemory(const OutOfMemory& refused);

}  // namespace highwater::simmps

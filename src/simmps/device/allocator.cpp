#include "simmps/device/allocator.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <iomanip>
#include <sstream>
#include <string>
#include <variant>

#include "core/units.h"
#include "simmps/device/device.h"

namespace highwater::simmps {
namespace {

/// Writes a size as PyTorch's c10::CachingAllocator::format_size does: "512 bytes", "1.50 MiB".
std::string formatSize(std::uint64_t bytes) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2);
  const auto scaled = [bytes](std::uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  if (bytes <= kKiB) {
    out << bytes << " bytes";
  } else if (bytes <= kMiB) {
    out << scaled(kKiB) << " KiB";
  } else if (bytes <= kGiB) {
    out << scaled(kMiB) << " MiB";
  } else {
    out << scaled(kGiB) << " GiB";
  }
  return out.str();
}

void freeBlock(void* context) {
  deviceMemory().free(static_cast<DeviceBlock*>(context));
}

}  // namespace

std::string outOfMemoryText(const OutOfMemory& refused) {
  std::string text = "MPS backend out of memory (MPS allocated: " + formatSize(refused.heapBytes) +
                     ", other allocations: " + formatSize(refused.otherBytes);
  if (refused.maxAllowedBytes > 0) {
    text += ", max allowed: " + formatSize(refused.maxAllowedBytes);
  }
  text += "). Tried to allocate " + formatSize(refused.requestedBytes) + " on shared pool.";
  if (refused.maxAllowedBytes > 0) {
    text +=
        " Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations "
        "(may cause system failure).";
  }
  return text;
}

void throwOutOfMemory(const OutOfMemory& refused) {
  const std::string text = outOfMemoryText(refused);
  if (deviceSettings().plainOutOfMemory) C10_THROW_ERROR(Error, text);
  C10_THROW_ERROR(OutOfMemoryError, text);
}

c10::DataPtr Allocator::allocate(std::size_t bytes) {
  if (bytes == 0) return {nullptr, nullptr, &freeBlock, kDevice};
  TORCH_CHECK(bytes < deviceSettings().maxBufferBytes, "Invalid buffer size: ", formatSize(bytes));
  const auto outcome = deviceMemory().allocate(bytes);
  if (const auto* refused = std::get_if<OutOfMemory>(&outcome)) throwOutOfMemory(*refused);
  auto* block = std::get<DeviceBlock*>(outcome);
  return {block->data(), block, &freeBlock, kDevice};
}

at::Tensor scalarForJob(const at::Tensor& host) {
  const auto outcome = deviceMemory().allocateScalar(host.nbytes());
  if (const auto* refused = std::get_if<OutOfMemory>(&outcome)) throwOutOfMemory(*refused);
  auto* block = std::get<DeviceBlock*>(outcome);
  at::Tensor copy = at::from_blob(
      block->data(), {}, [block](void*) { freeBlock(block); }, host.options().requires_grad(false));
  copy.copy_(host);
  return copy;
}

void Allocator::copy_data(void* dst, const void* src, std::size_t bytes) const {
  submitJob("copy_data", [=] { std::memcpy(dst, src, bytes); });
}

#if HIGHWATER_TORCH_AT_LEAST(2, 9)
void Allocator::emptyCache(c10::MempoolId_t) {
  deviceMemory().emptyCache();
}

c10::CachingDeviceAllocator::DeviceStats Allocator::getDeviceStats(c10::DeviceIndex) {
  const MemoryCounters from = deviceMemory().counters();
  const auto stat = [](std::uint64_t current, std::uint64_t peak, std::uint64_t allocated,
                       std::uint64_t freed) {
    c10::CachingAllocator::Stat out;
    out.current = static_cast<std::int64_t>(current);
    out.peak = static_cast<std::int64_t>(peak);
    out.allocated = static_cast<std::int64_t>(allocated);
    out.freed = static_cast<std::int64_t>(freed);
    return out;
  };
  // PyTorch fills only these, and since 2.15 the active bytes.
  c10::CachingDeviceAllocator::DeviceStats stats;
  stats.allocated_bytes[0] =
      stat(from.currentBytes, from.currentPeakBytes, from.allocatedBytes, from.freedBytes);
  stats.reserved_bytes[0] =
      stat(from.heapBytes, from.heapPeakBytes, from.reservedBytes, from.releasedBytes);
#if HIGHWATER_TORCH_AT_LEAST(2, 15)
  // In use, or freed and waiting for the device: here a freed block can be reused at once.
  stats.active_bytes[0] = stats.allocated_bytes[0];
#endif
  return stats;
}

void Allocator::resetAccumulatedStats(c10::DeviceIndex) {
  deviceMemory().resetAccumulated();
}
void Allocator::resetPeakStats(c10::DeviceIndex) {
  deviceMemory().resetPeaks();
}
#endif

Allocator* deviceAllocator() {
  static auto* const allocator = new Allocator;
  return allocator;
}

}  // namespace highwater::simmps

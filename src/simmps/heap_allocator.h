#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <variant>
#include <vector>

#include "simmps/memory_heap.h"

namespace highwater::simmps {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

/// Heap sizes and thresholds of PyTorch's MPS allocator (MPSAllocator.h).
inline constexpr std::uint64_t kAlignment = 256;
inline constexpr std::uint64_t kMaxSmallAllocation = kMiB;
inline constexpr std::uint64_t kMinLargeAllocation = 10 * kMiB;
inline constexpr std::uint64_t kSmallHeap = 8 * kMiB;
inline constexpr std::uint64_t kLargeHeap = 32 * kMiB;
inline constexpr std::uint64_t kXLargeHeap = kGiB;
inline constexpr std::uint64_t kOwnHeapRounding = 2 * kMiB;
inline constexpr std::uint64_t kMaxReuseSlack = 32 * kMiB;

/// Watermarks are multiples of the recommended maximum; 0 switches one off.
struct MemoryLimits {
  std::uint64_t recommendedBytes = 0;
  double highWatermarkRatio = 1.7;
  double lowWatermarkRatio = 1.4;
};

/// Bytes and counts since the start, peaks since the last reset.
struct MemoryCounters {
  std::uint64_t currentBytes = 0;
  std::uint64_t currentPeakBytes = 0;
  std::uint64_t driverBytes = 0;
  std::uint64_t driverPeakBytes = 0;
  std::uint64_t allocatedBytes = 0;  ///< sum of all blocks handed out
  std::uint64_t freedBytes = 0;      ///< sum of all blocks taken back
  std::uint64_t reservedBytes = 0;   ///< sum of all heaps reserved
  std::uint64_t releasedBytes = 0;   ///< sum of all heaps released
  std::uint64_t requestedBytes = 0;  ///< sum of what was asked for, before alignment
  std::uint64_t liveBlocks = 0;
  std::uint64_t heaps = 0;
  std::uint64_t retries = 0;  ///< cached blocks were released to serve a request
  std::uint64_t outOfMemories = 0;
};

/// Why a request was refused. maxAllowedBytes is 0 where the high watermark is off.
struct OutOfMemory {
  std::uint64_t currentBytes = 0;
  std::uint64_t otherBytes = 0;  ///< driver - current
  std::uint64_t maxAllowedBytes = 0;
  std::uint64_t requestedBytes = 0;  ///< aligned
};

/// A live block, owned by the allocator between allocate() and free().
class DeviceBlock {
 public:
  std::byte* data() const { return data_; }
  /// What counts as current: the aligned request, or more where a larger cached block was reused.
  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class HeapAllocator;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t age_ = 0;  ///< requests to its pool while it lay in the cache
  MemoryHeap* heap_ = nullptr;
  bool small_ = false;
};

/// Memory policy of the simulated device, after PyTorch's MPSHeapAllocatorImpl: a small and a large
/// pool of heaps, freed blocks cached by size, watermarks. Order for a request: cached block,
/// collect old cached blocks (under pressure), new block, release enough cached blocks, release
/// all, out of memory. Unlike Metal's, driver memory never passes the high watermark: a heap that
/// would is replaced by an own heap for the block. Thread-safe.
class HeapAllocator {
 public:
  /// `beforeRelease` runs before memory goes back to the system: jobs may still be using it.
  explicit HeapAllocator(MemoryLimits limits, std::function<void()> beforeRelease = {});
  ~HeapAllocator();
  HeapAllocator(const HeapAllocator&) = delete;
  HeapAllocator& operator=(const HeapAllocator&) = delete;

  using Outcome = std::variant<DeviceBlock*, OutOfMemory>;
  /// `bytes` must be over 0.
  Outcome allocate(std::uint64_t bytes);
  void free(DeviceBlock* block);

  /// Releases every cached block; heaps that are empty then go back to the system.
  void emptyCache();

  MemoryLimits limits() const;
  void setHighWatermarkRatio(double ratio);
  MemoryCounters counters() const;
  void resetPeaks();
  /// Sets sums and counts of the past to 0; what is live stays counted.
  void resetAccumulated();

 private:
  struct BySize {
    bool operator()(const DeviceBlock* a, const DeviceBlock* b) const {
      return a->bytes_ != b->bytes_ ? a->bytes_ < b->bytes_ : a->data_ < b->data_;
    }
  };
  struct Pool {
    std::vector<std::unique_ptr<MemoryHeap>> heaps;
    std::set<DeviceBlock*, BySize> cached;
    std::uint64_t cachedBytes = 0;
  };
  struct Request {
    std::uint64_t bytes;
    bool small;
    bool underPressure;
  };

  Pool& pool(bool small) { return small ? small_ : large_; }
  std::uint64_t maxAllowedBytes() const;
  bool isUnderPressure() const;
  DeviceBlock* reuse(const Request& request);
  DeviceBlock* carve(const Request& request);
  MemoryHeap* heapFor(const Request& request);
  MemoryHeap* addHeap(const Request& request);
  void collectOld(const Request& request);
  /// Both are false where there was nothing to release.
  bool releaseEnough(const Request& request);
  bool releaseAll(Pool& pool);
  void release(Pool& pool, DeviceBlock* block);
  void waitForJobs();
  Outcome handOut(DeviceBlock* block, std::uint64_t requestedBytes);

  mutable std::mutex mutex_;
  MemoryLimits limits_;
  const std::function<void()> beforeRelease_;
  Pool small_;
  Pool large_;
  MemoryCounters counters_;
};

}  // namespace highwater::simmps

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <variant>

#include "core/units.h"
#include "simmps/policy/ledger.h"
#include "simmps/policy/memory_heap.h"
#include "simmps/policy/process_fork.h"

namespace highwater::simmps {

// Heap sizes and thresholds of PyTorch's MPS allocator (MPSAllocator.h), in bytes.

/// Every allocation is rounded up to a multiple of this many bytes. It stands in for the alignment
/// that Metal chooses (heapBufferSizeAndAlignWithLength) and that cannot be known here.
inline constexpr std::uint64_t kAlignment = 256;
/// Requests up to this many bytes go to the pool of small blocks.
inline constexpr std::uint64_t kMaxSmallAllocation = kMiB;
/// Requests from this many bytes on do not use heaps of kLargeHeap.
inline constexpr std::uint64_t kMinLargeAllocation = 10 * kMiB;
/// Size in bytes of a heap for small blocks.
inline constexpr std::uint64_t kSmallHeap = 8 * kMiB;
/// Size in bytes of a heap for requests below kMinLargeAllocation.
inline constexpr std::uint64_t kLargeHeap = 32 * kMiB;
/// Size in bytes of a heap for requests below half of it, unless memory is short.
inline constexpr std::uint64_t kXLargeHeap = kGiB;
/// A heap for a single block is rounded up to a multiple of this many bytes.
inline constexpr std::uint64_t kOwnHeapRounding = 2 * kMiB;
/// A cached block is reused if it is at most this many bytes larger than the request.
inline constexpr std::uint64_t kMaxReuseSlack = kLargeHeap;

/// Limits of the allocator's memory. Each watermark is its ratio times recommendedBytes; a ratio of
/// 0 disables it. Above the low watermark cached blocks are released, above the high one requests
/// are refused.
struct AllocatorLimits {
  std::uint64_t recommendedBytes = 0;
  double highWatermarkRatio = 1.7;
  double lowWatermarkRatio = 1.4;
};

/// The allocator's counters: current sizes in bytes, peaks since resetPeaks(), and sums and counts
/// since the start or resetAccumulated().
struct MemoryCounters {
  std::uint64_t currentBytes = 0;
  std::uint64_t currentPeakBytes = 0;
  std::uint64_t heapBytes = 0;  ///< heaps, cached blocks included: PyTorch's "reserved"
  std::uint64_t heapPeakBytes = 0;
  std::uint64_t graphBytes = 0;   ///< compiled graphs
  std::uint64_t driverBytes = 0;  ///< heaps and graphs: Metal's currentAllocatedSize
  std::uint64_t driverPeakBytes = 0;
  std::uint64_t allocatedBytes = 0;  ///< sum of all blocks allocated
  std::uint64_t freedBytes = 0;      ///< sum of all blocks freed
  std::uint64_t reservedBytes = 0;   ///< sum of all heaps reserved
  std::uint64_t releasedBytes = 0;   ///< sum of all heaps released
  std::uint64_t requestedBytes = 0;  ///< sum of all requests, before alignment
  std::uint64_t liveBlocks = 0;
  std::uint64_t heaps = 0;
  std::uint64_t retries = 0;  ///< requests for which cached blocks were released
  std::uint64_t outOfMemories = 0;
};

/// Why the allocator refused a request: the numbers of PyTorch's out-of-memory message, in bytes.
/// maxAllowedBytes is 0 if the high watermark is off.
struct OutOfMemory {
  std::uint64_t heapBytes = 0;   ///< "MPS allocated" in PyTorch's text
  std::uint64_t otherBytes = 0;  ///< "other allocations" in PyTorch's text: driver - heaps
  std::uint64_t maxAllowedBytes = 0;
  std::uint64_t requestedBytes = 0;  ///< aligned
};

/// Pools into which PyTorch's allocator sorts blocks by size. Scalar holds single values that the
/// host passes to jobs.
enum class PoolKind : std::uint8_t { Small, Large, Scalar };

/// A block of device memory; the allocator owns it.
class DeviceBlock {
 public:
  std::byte* data() const { return data_; }
  /// Size by which this block counts in MemoryCounters::currentBytes: the aligned request, or more
  /// if a larger cached block was reused.
  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class HeapAllocator;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t id_ = 0;
  std::uint64_t cachedSince_ = 0;  ///< requests to its pool before it was freed, for its age
  std::uint64_t lastJob_ = 0;      ///< jobs submitted before it was freed: they may still use it
  MemoryHeap* heap_ = nullptr;
  PoolKind pool_ = PoolKind::Small;
};

/// Functions that tell the allocator how far the device's queue has got, so that it does not
/// release memory that jobs still use. Both counts start at 0. Leave all empty if no job is ever
/// pending.
struct JobOrder {
  std::function<std::uint64_t()> submitted;
  std::function<std::uint64_t()> finished;  ///< may lag, but is never too high
  std::function<void()> wait;               ///< blocks until all submitted jobs have finished
};

/// Options of a HeapAllocator.
struct MemoryOptions {
  JobOrder jobs;
  Ledger* ledger = nullptr;         ///< may be null; must outlive the allocator
  std::uint64_t outOfMemoryAt = 0;  ///< refuses the n-th allocation, counted from 1; 0: none
  /// As on a Mac: a request within the high watermark gets its heap even if that takes driver past
  /// the watermark, and graphs are not limited.
  bool limitsRequestsOnly = false;
};

/// The simulated device's allocator, after MPSHeapAllocatorImpl of PyTorch 2.13: pools of heaps,
/// freed blocks cached by size, watermarks. A request tries, in this order: a cached block; under
/// pressure, collecting old cached blocks; a new block; a cached block again; releasing enough
/// cached blocks; releasing all; out of memory. The high watermark refuses a request even if a
/// cached block would serve it.
///
/// It differs from PyTorch:
/// - Driver memory never exceeds the high watermark: a heap that would exceed it is replaced by a
///   heap of the block's own size. PyTorch checks only the block's size
///   (MemoryOptions::limitsRequestsOnly).
/// - Memory is returned to the system only after the jobs that may use it. Metal keeps such memory
///   alive until then, and counts it.
/// - Of blocks or heaps of equal size the older is chosen, not by address, so that runs repeat.
///
/// Other versions: 2.6 to 2.12 kept most tensors in private pools beside the shared ones, with the
/// same policy for each; versions after 2.13 round large sizes into 32 buckets per power of two.
///
/// Thread-safe. Jobs may free; allocate() and emptyCache() may wait for jobs, so jobs must not call
/// them. The ledger is called with the allocator's lock held.
class HeapAllocator {
 public:
  /// Creates an allocator without heaps; it reserves them as requests come.
  explicit HeapAllocator(AllocatorLimits limits, MemoryOptions options = {});
  ~HeapAllocator();
  HeapAllocator(const HeapAllocator&) = delete;
  HeapAllocator& operator=(const HeapAllocator&) = delete;

  /// The allocated block, or the numbers of the refusal.
  using Outcome = std::variant<DeviceBlock*, OutOfMemory>;
  /// Allocates a block of `bytes`, which must be over 0; returns OutOfMemory if the limits,
  /// MemoryOptions::outOfMemoryAt or the system refuse it. May wait for jobs. Free the block with
  /// free().
  Outcome allocate(std::uint64_t bytes);
  /// Allocates a block from the pool for scalars, for a value of a few bytes that the host passes
  /// to a job. As allocate() does, returns OutOfMemory if the request is refused, and may wait for
  /// jobs. The caller's job must free() the block when it no longer needs it.
  Outcome allocateScalar(std::uint64_t bytes);
  /// Puts a block into the cache for reuse; does not return its memory to the system. Any thread,
  /// jobs included.
  void free(DeviceBlock* block);

  /// Adds the `bytes` of a compiled graph to MemoryCounters::driverBytes. Returns OutOfMemory if an
  /// allocation of that size would be refused, else nullopt.
  std::optional<OutOfMemory> holdGraph(std::uint64_t bytes);
  /// Subtracts from MemoryCounters::driverBytes all that holdGraph() added.
  void releaseGraphs();

  /// Waits for the device, then releases every cached block and the heaps that become empty.
  void emptyCache();

  AllocatorLimits limits() const;
  /// Sets AllocatorLimits::highWatermarkRatio, which is not checked; `ratio` must be in 0..2
  /// (PyTorch's default_high_watermark_upper_bound).
  void setHighWatermarkRatio(double ratio);
  MemoryCounters counters() const;
  /// Sets the three peaks of MemoryCounters to the current values.
  void resetPeaks();
  /// Sets to 0 the sums of MemoryCounters (allocatedBytes to requestedBytes), retries and
  /// outOfMemories.
  void resetAccumulated();

  /// Bytes of the heaps that are in physical memory: the part of the process's resident size that
  /// driverBytes already counts. Freed and cached blocks stay resident until their heap is
  /// released. Takes about 0.2 ms per GiB in use.
  std::uint64_t residentBytes() const;

 private:
  struct BySize {
    bool operator()(const DeviceBlock* a, const DeviceBlock* b) const {
      return a->bytes_ != b->bytes_ ? a->bytes_ < b->bytes_ : a->id_ < b->id_;
    }
  };
  struct Pool {
    PoolKind kind = PoolKind::Small;
    std::map<std::uint64_t, std::unique_ptr<MemoryHeap>> heaps;  // by id, oldest first
    std::set<DeviceBlock*, BySize> cached;
    std::uint64_t cachedBytes = 0;
    std::uint64_t requests = 0;  ///< requests that searched for a cached block
  };
  struct Request {
    std::uint64_t bytes;
    std::uint64_t requestedBytes;
    Pool& pool;
    bool underPressure;
  };
  using Lock = std::unique_lock<std::mutex>;

  Outcome allocateFrom(PoolKind kind, std::uint64_t bytes);
  DeviceBlock* find(Request& request, Lock& lock);
  Pool& pool(PoolKind kind) { return pools_[static_cast<std::size_t>(kind)]; }
  std::uint64_t maxAllowedBytes() const;
  bool exceedsHighWatermark(std::uint64_t more) const;
  bool isUnderPressure() const;

  DeviceBlock* reuse(Request& request, Lock& lock);
  DeviceBlock* bestCached(Request& request, Lock& lock);
  DeviceBlock* carve(const Request& request);
  MemoryHeap* heapFor(const Request& request) const;
  MemoryHeap* addHeap(const Request& request);
  MemoryHeap* reserveHeap(Pool& home, std::uint64_t bytes, bool split);

  void collectOld(const Request& request);
  bool releaseEnough(const Request& request, Lock& lock);
  void releaseAll(Lock& lock);
  void releaseCached(Pool& from);
  enum class EmptyHeap : std::uint8_t { Keep, Release };
  void release(DeviceBlock* block, EmptyHeap whatThen);
  void releaseHeap(Pool& home, const MemoryHeap& heap);

  bool isIdle(const DeviceBlock* block) const { return block->lastJob_ <= finishedJobs_; }
  void noteFinishedJobs();
  /// Unlocks while waiting, since jobs may free. All state may have changed afterwards.
  void waitForJobs(Lock& lock);

  Outcome handOut(DeviceBlock* block, const Request& request);
  OutOfMemory refuse(std::uint64_t bytes, std::uint64_t requestedBytes);
  void addDriver(std::uint64_t bytes);
  void note(MemoryEntry::Kind kind, const void* address, std::uint64_t bytes,
            std::uint64_t requestedBytes = 0) const;

  mutable std::mutex mutex_;
  AllocatorLimits limits_;
  const MemoryOptions options_;
  std::array<Pool, 3> pools_;
  MemoryCounters counters_;
  std::uint64_t allocations_ = 0;
  std::uint64_t lastBlockId_ = 0;
  std::uint64_t lastHeapId_ = 0;
  std::uint64_t finishedJobs_ = 0;
  const ForkSteps fork_{ForkOrder::Memory, mutex_};
};

}  // namespace highwater::simmps

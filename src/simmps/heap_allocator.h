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

#include "simmps/ledger.h"
#include "simmps/memory_heap.h"
#include "simmps/memory_log.h"
#include "simmps/process_fork.h"

namespace highwater::simmps {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

/// Heap sizes and thresholds of PyTorch's MPS allocator (MPSAllocator.h). What Metal adds cannot be
/// known here: it may round a heap up to its pages, and it tells the alignment of a buffer
/// (heapBufferSizeAndAlignWithLength), for which 256 bytes stand in.
inline constexpr std::uint64_t kAlignment = 256;
inline constexpr std::uint64_t kMaxSmallAllocation = kMiB;
inline constexpr std::uint64_t kMinLargeAllocation = 10 * kMiB;
inline constexpr std::uint64_t kSmallHeap = 8 * kMiB;
inline constexpr std::uint64_t kLargeHeap = 32 * kMiB;
inline constexpr std::uint64_t kXLargeHeap = kGiB;
inline constexpr std::uint64_t kOwnHeapRounding = 2 * kMiB;
inline constexpr std::uint64_t kMaxReuseSlack = kLargeHeap;

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
  std::uint64_t heapBytes = 0;  ///< PyTorch's total and "reserved": heaps, cached blocks included
  std::uint64_t heapPeakBytes = 0;
  std::uint64_t graphBytes = 0;   ///< what MPSGraph would hold
  std::uint64_t driverBytes = 0;  ///< Metal's currentAllocatedSize: heaps and graphs
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
  std::uint64_t heapBytes = 0;   ///< what PyTorch's text calls "MPS allocated"
  std::uint64_t otherBytes = 0;  ///< "other allocations": driver - heaps
  std::uint64_t maxAllowedBytes = 0;
  std::uint64_t requestedBytes = 0;  ///< aligned
};

/// PyTorch's pools. Scalar holds single values that jobs bring along from the host.
enum class PoolKind : std::uint8_t { Small, Large, Scalar };

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
  std::uint64_t id_ = 0;
  std::uint64_t uses_ = 0;
  std::uint64_t cachedSince_ = 0;  ///< requests to its pool when it was freed: its age since
  std::uint64_t lastJob_ = 0;      ///< jobs submitted when it was freed: those may still use it
  MemoryHeap* heap_ = nullptr;
  PoolKind pool_ = PoolKind::Small;
};

/// The device's jobs, as far as memory is concerned: counts from 0, in the order of submission.
/// Where a member is empty nothing ever runs behind the host.
struct JobOrder {
  std::function<std::uint64_t()> submitted;
  std::function<std::uint64_t()> finished;  ///< may be too low, never too high
  std::function<void()> wait;               ///< until all that is submitted has finished
};

/// What the allocator is given besides its limits.
struct MemoryOptions {
  JobOrder jobs;
  Ledger* ledger = nullptr;  ///< may be null; outlives the allocator
  MemoryLog log = MemoryLog();
  std::uint64_t outOfMemoryAt = 0;  ///< the n-th allocation is refused, counted from 1; 0: none
};

/// Memory policy of the simulated device, after MPSHeapAllocatorImpl of PyTorch 2.13: pools of
/// heaps, freed blocks cached by size, watermarks. Order for a request: cached block, collect old
/// cached blocks (under pressure), new block, cached block again, release enough cached blocks,
/// release all, out of memory. A request is refused by the high watermark even where a cached block
/// would serve it.
///
/// It differs where Metal cannot be had, or should not:
/// - Driver memory never passes the high watermark: a heap that would is replaced by an own heap
/// for
///   the block. PyTorch checks the block's size only.
/// - What goes back to the system waits for the jobs that may use it. Metal keeps such memory alive
///   until then, and counts it.
/// - Ties between blocks or heaps of one size go to the older one, not by address, so that a run
///   repeats.
/// Versions: 2.6 to 2.12 had private pools beside the shared ones, where most tensors lay, and the
/// same policy for each; newer ones than 2.13 round large sizes into 32 buckets per power of two.
///
/// Thread-safe. Jobs may free; allocate() and emptyCache() may wait for jobs, so a job must not
/// call them. The ledger is called under the allocator's lock.
class HeapAllocator {
 public:
  explicit HeapAllocator(MemoryLimits limits, MemoryOptions options = {});
  ~HeapAllocator();
  HeapAllocator(const HeapAllocator&) = delete;
  HeapAllocator& operator=(const HeapAllocator&) = delete;

  using Outcome = std::variant<DeviceBlock*, OutOfMemory>;
  /// `bytes` must be over 0.
  Outcome allocate(std::uint64_t bytes);
  /// For a value of a few bytes that a job takes along; to be freed by that job.
  Outcome allocateScalar(std::uint64_t bytes);
  void free(DeviceBlock* block);

  /// Adds to driver what MPSGraph would hold. Refused as an allocation would be.
  std::optional<OutOfMemory> holdGraph(std::uint64_t bytes);
  /// Takes from driver all that holdGraph() added.
  void releaseGraphs();

  /// Waits for the device, then releases every cached block, and the heaps that this empties.
  void emptyCache();

  MemoryLimits limits() const;
  /// `ratio` is from 0 to 2 (PyTorch's default_high_watermark_upper_bound).
  void setHighWatermarkRatio(double ratio);
  MemoryCounters counters() const;
  void resetPeaks();
  /// Sets sums and counts of the past to 0; what is live stays counted.
  void resetAccumulated();

  /// How much of the heaps is in this machine's memory: a part of the process's resident size that
  /// driver already counts. Blocks that were freed or cached stay in memory until their heap is
  /// released. Takes about 0.2 ms for each GiB in use.
  std::uint64_t residentBytes() const;

 private:
  struct BySize {
    bool operator()(const DeviceBlock* a, const DeviceBlock* b) const {
      return a->bytes_ != b->bytes_ ? a->bytes_ < b->bytes_ : a->id_ < b->id_;
    }
  };
  struct Pool {
    PoolKind kind = PoolKind::Small;
    std::map<std::uint64_t, std::unique_ptr<MemoryHeap>> heaps;  // by id: older ones first
    std::set<DeviceBlock*, BySize> cached;
    std::uint64_t cachedBytes = 0;
    std::uint64_t blocks = 0;      ///< live and cached
    std::uint64_t blockBytes = 0;  ///< of those
    std::uint64_t requests = 0;    ///< that looked for a cached block
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
  /// Lets go of the lock meanwhile: jobs may free. Everything may have changed afterwards.
  void waitForJobs(Lock& lock);

  Outcome handOut(DeviceBlock* block, const Request& request);
  OutOfMemory refuse(std::uint64_t bytes, std::uint64_t requestedBytes);
  void addDriver(std::uint64_t bytes);
  void note(MemoryEntry::Kind kind, const void* address, std::uint64_t bytes,
            std::uint64_t requestedBytes = 0) const;

  // heap_allocator_log.cpp
  void logStart() const;
  void logHighWatermark() const;
  void logNewHeap(const Pool& home, const MemoryHeap& heap) const;
  void logNewBlock(const DeviceBlock& block, std::uint64_t requestedBytes) const;
  void logReuse(const DeviceBlock& block, std::uint64_t requestedBytes) const;
  void logRelease(const DeviceBlock& block) const;
  void logReleasedHeap(const MemoryHeap& heap) const;
  void logReleaseAll() const;
  void logReleaseCached(const Pool& from) const;
  void logCollection(std::uint64_t blocks, std::uint64_t bytes, const Pool& from) const;

  mutable std::mutex mutex_;
  MemoryLimits limits_;
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

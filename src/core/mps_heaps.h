#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/messages.h"

namespace highwater {

/// Heap sizes and thresholds of PyTorch's MPS allocator (MPSAllocator.h of 2.13), in bytes.
struct HeapRules {
  /// Every allocation is rounded up to a multiple of this. It stands in for the alignment that
  /// Metal chooses (heapBufferSizeAndAlignWithLength) and that cannot be known here.
  static constexpr std::uint64_t kAlignment = 256;
  static constexpr std::uint64_t kMaxSmall = 1ULL << 20;   ///< larger requests use the large pool
  static constexpr std::uint64_t kMinLarge = 10ULL << 20;  ///< from here on no heap of kLargeHeap
  static constexpr std::uint64_t kSmallHeap = 8ULL << 20;
  static constexpr std::uint64_t kLargeHeap = 32ULL << 20;
  static constexpr std::uint64_t kExtraLargeHeap = 1ULL << 30;   ///< for requests below half of it
  static constexpr std::uint64_t kOwnHeapRounding = 2ULL << 20;  ///< of a heap for a single block
  static constexpr std::uint64_t kMaxReuseSlack = kLargeHeap;    ///< a larger block is not reused
};

/// The policy of PyTorch's MPS allocator (MPSHeapAllocatorImpl of 2.13) without its memory: pools
/// of heaps, freed blocks cached by size, watermarks. It is a value: a copy goes on independently,
/// and knows the blocks of the original by the same numbers.
///
/// A request tries, in this order: a cached block; under pressure, collecting old cached blocks; a
/// new block; a cached block again; releasing enough cached blocks; releasing all; out of memory.
/// The high watermark refuses a request even if a cached block would serve it. A cached block that
/// is at most 32 MiB larger is reused, and counts with its whole size.
///
/// It differs from PyTorch:
/// - Driver memory never exceeds the high watermark: a heap that would exceed it is replaced by a
///   heap of the block's own size. PyTorch checks only the block's size
///   (see the constructor).
/// - Of blocks or heaps of equal size the older is chosen, not by address, so that runs repeat.
///   Within a heap, the smallest extent that is large enough is used, since Metal's placement of
///   buffers cannot be known.
///
/// Other versions: 2.6 to 2.12 kept most tensors in private pools beside the shared ones, with the
/// same policy for each; versions after 2.13 round large sizes into 32 buckets per power of two.
class MpsHeaps {
 public:
  /// Current sizes in bytes, peaks since resetPeaks(), and sums and counts since the start or
  /// resetAccumulated().
  struct Counters {
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
  };

  /// Pools into which PyTorch's allocator sorts blocks by size. Scalar holds single values that the
  /// host passes to jobs.
  enum class PoolKind : std::uint8_t { Small, Large, Scalar };
  using Block = std::size_t;
  using HeapId = std::uint64_t;  ///< counts the heaps from 1
  /// The result of a refused request.
  static constexpr Block kRefused = ~std::size_t{0};

  /// The device whose memory is divided: it gives each heap its memory, and tells whether jobs may
  /// still use a freed block. This one has no memory to give and no jobs, as for a plan.
  class Device {
   public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;
    /// Gives a new heap, which the counters already count, its memory. Returns false if there is
    /// none; the heap is then not made.
    virtual bool reserve(HeapId /*heap*/, std::uint64_t /*bytes*/) { return true; }
    /// Takes the memory of a heap back, which the counters no longer count.
    virtual void release(HeapId /*heap*/, std::uint64_t /*bytes*/) {}
    /// The number of jobs that have finished. May lag, but is never too high.
    virtual std::uint64_t finishedJobs() { return 0; }
    /// Blocks until all jobs have finished. Meanwhile other threads may use the MpsHeaps.
    virtual void waitForJobs() {}
  };

  /// Starts without heaps. Above the low watermark of `limits` cached blocks are released, above
  /// the high one requests are refused; without a recommended maximum there is neither. With
  /// `limitsRequestsOnly`, as on a Mac, a request within the high watermark gets its heap even if
  /// that takes driver past the watermark, and graphs are not limited.
  explicit MpsHeaps(const MemoryLimits& limits, bool limitsRequestsOnly = false);

  /// The pool for a block of `bytes` that holds a tensor.
  static PoolKind poolFor(std::uint64_t bytes);
  /// The size in bytes by which a request of `bytes` counts.
  static std::uint64_t aligned(std::uint64_t bytes);

  /// Allocates `bytes` from a pool and returns the block for free(), or kRefused.
  Block allocate(PoolKind kind, std::uint64_t bytes, Device& device);
  /// As above from the pool for `bytes`, without a device.
  Block allocate(std::uint64_t bytes);
  /// Puts a block into the cache for reuse. `lastJob` counts the jobs submitted so far: those may
  /// still use it. Precondition: allocate() returned it, and it was not freed since.
  void free(Block block, std::uint64_t lastJob = 0);
  /// Waits for the device, then releases every cached block and the heaps that become empty.
  void emptyCache(Device& device);
  /// As above, without a device.
  void emptyCache();

  /// Adds the `bytes` of a compiled graph to Counters::driverBytes, or returns false: a request of
  /// that size would be refused.
  bool holdGraph(std::uint64_t bytes, Device& device);
  /// Subtracts from Counters::driverBytes all that holdGraph() added; returns it.
  std::uint64_t releaseGraphs();

  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// The high watermark in bytes; 0: none.
  [[nodiscard]] std::uint64_t highWatermark() const { return highBytes_; }
  /// Sets the high watermark to a multiple of the recommended maximum; 0: none.
  void setHighWatermarkRatio(double ratio);
  /// Sets the three peaks of Counters to the current values.
  void resetPeaks();
  /// Sets to 0 the sums of Counters (allocatedBytes to requestedBytes), and retries.
  void resetAccumulated();

  /// Where a block that is in use lies.
  struct Place {
    HeapId heap = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  ///< the aligned request, or more if a larger block was reused
  };
  [[nodiscard]] const Place& placeOf(Block block) const { return blocks_[block].place; }

 private:
  struct BlockState {
    Place place;
    PoolKind pool = PoolKind::Small;
    std::uint64_t number = 0;       ///< counts the blocks, for their age
    std::uint64_t cachedSince = 0;  ///< requests to its pool before it was freed
    std::uint64_t lastJob = 0;
  };
  /// The extents of a heap.
  class Heap {
   public:
    Heap(std::uint64_t size, bool isSplit) : bytes(size), split(isSplit) { add(0, size); }
    /// Size in bytes of the largest free extent: what take() can serve at most.
    [[nodiscard]] std::uint64_t available() const {
      return bySize_.empty() ? 0 : bySize_.rbegin()->first;
    }
    /// Takes the smallest free extent of at least `wanted` bytes, which must exist.
    std::uint64_t take(std::uint64_t wanted);
    void giveBack(std::uint64_t offset, std::uint64_t size);

    std::uint64_t bytes;
    bool split;  ///< for several blocks (PyTorch's is_split)
    std::uint64_t blocks = 0;

   private:
    void add(std::uint64_t offset, std::uint64_t size);
    void remove(std::uint64_t offset, std::uint64_t size);

    std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes
    std::set<std::pair<std::uint64_t, std::uint64_t>> bySize_;
  };
  struct Cached {
    std::uint64_t bytes = 0;
    std::uint64_t number = 0;
    Block block = 0;
    auto operator<=>(const Cached&) const = default;
  };
  struct Pool {
    std::map<HeapId, Heap> heaps;  ///< oldest first
    std::set<Cached> cached;
    std::uint64_t cachedBytes = 0;
    std::uint64_t requests = 0;  ///< requests that searched for a cached block
  };
  using HeapEntry = std::map<HeapId, Heap>::value_type;
  struct Request {
    std::uint64_t bytes;
    PoolKind kind;
    Pool& pool;
    bool underPressure;
  };
  enum class EmptyHeap : std::uint8_t { Keep, Release };

  Pool& pool(PoolKind kind) { return pools_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] bool exceedsHigh(std::uint64_t more) const;
  [[nodiscard]] bool isUnderPressure() const;
  Block find(Request& request, Device& device);
  Block reuse(Request& request, Device& device);
  std::set<Cached>::iterator bestCached(Request& request, Device& device);
  Block carve(const Request& request, Device& device);
  static HeapEntry* heapFor(const Request& request);
  HeapEntry* addHeap(const Request& request, Device& device);
  HeapEntry* reserveHeap(Pool& home, std::uint64_t bytes, bool split, Device& device);
  void addDriver(std::uint64_t bytes);
  void collectOld(const Request& request, Device& device);
  bool releaseEnough(const Request& request, Device& device);
  void release(Block block, EmptyHeap whatThen, Device& device);
  [[nodiscard]] bool isIdle(const Cached& cached) const {
    return blocks_[cached.block].lastJob <= finishedJobs_;
  }
  void noteFinishedJobs(Device& device);
  void waitForJobs(Device& device);

  std::uint64_t recommendedBytes_, highBytes_, lowBytes_;  ///< a watermark of 0: none
  bool limitsRequestsOnly_;
  Counters counters_;
  std::array<Pool, 3> pools_;
  std::vector<BlockState> blocks_;
  std::vector<Block> unused_;  ///< blocks that were released, whose numbers are given again
  std::uint64_t blocksMade_ = 0;
  HeapId heapsMade_ = 0;
  std::uint64_t finishedJobs_ = 0;
};

}  // namespace highwater

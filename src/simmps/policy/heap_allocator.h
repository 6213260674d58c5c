#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <variant>

#include "core/mps_heaps.h"
#include "simmps/policy/ledger.h"
#include "simmps/policy/memory_range.h"
#include "simmps/policy/process_fork.h"

namespace highwater::simmps {

/// Limits of the allocator's memory. Each watermark is its ratio times recommendedBytes; a ratio of
/// 0 disables it. Above the low watermark cached blocks are released, above the high one requests
/// are refused.
struct AllocatorLimits {
  std::uint64_t recommendedBytes = 0;
  double highWatermarkRatio = 1.7;
  double lowWatermarkRatio = 1.4;
};

/// The allocator's counters: those of its heaps, and the requests that it refused since the start
/// or resetAccumulated().
struct MemoryCounters : MpsHeaps::Counters {
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
  MpsHeaps::Block number_ = 0;
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
  bool limitsRequestsOnly = false;  ///< see MpsHeaps
};

/// The simulated device's allocator: MpsHeaps decides, this gives the heaps address space, the
/// requests locks and waits, and the ledger its entries. Memory is returned to the system only
/// after the jobs that may use it; Metal keeps such memory alive until then, and counts it.
///
/// Thread-safe. Jobs may free; allocate() and emptyCache() may wait for jobs, so jobs must not call
/// them. The ledger is called with the allocator's lock held.
class HeapAllocator {
 public:
  /// Creates an allocator without heaps; it reserves them as requests come.
  explicit HeapAllocator(AllocatorLimits limits, MemoryOptions options = {});
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
  class Memory;
  /// The address space of a heap, and how much of it may have been touched.
  struct HeapRange {
    MemoryRange memory;
    std::uint64_t usedBytes = 0;
  };

  Outcome allocateFrom(MpsHeaps::PoolKind kind, std::uint64_t bytes);
  OutOfMemory refuse(std::uint64_t bytes, std::uint64_t requestedBytes);
  void note(MemoryEntry::Kind kind, const void* address, std::uint64_t bytes,
            std::uint64_t requestedBytes = 0) const;

  mutable std::mutex mutex_;
  AllocatorLimits limits_;
  const MemoryOptions options_;
  MpsHeaps heaps_;
  std::map<MpsHeaps::HeapId, HeapRange> ranges_;
  std::deque<DeviceBlock> blocks_;  ///< by MpsHeaps::Block
  std::uint64_t allocations_ = 0;
  std::uint64_t refusals_ = 0;
  const ForkSteps fork_{ForkOrder::Memory, mutex_};
};

}  // namespace highwater::simmps

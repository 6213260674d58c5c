#include "simmps/policy/heap_allocator.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace highwater::simmps {

/// The memory and the jobs of an allocator whose lock is held, except while it waits.
class HeapAllocator::Memory final : public MpsHeaps::Device {
 public:
  explicit Memory(HeapAllocator& allocator) : allocator_(allocator), lock_(allocator.mutex_) {}

  bool reserve(MpsHeaps::HeapId heap, std::uint64_t bytes) override {
    auto memory = MemoryRange::reserve(bytes);
    if (!memory) return false;
    allocator_.note(MemoryEntry::Kind::ReserveHeap, memory->base(), bytes);
    allocator_.ranges_.emplace(heap, HeapRange{std::move(*memory)});
    return true;
  }
  void release(MpsHeaps::HeapId heap, std::uint64_t bytes) override {
    const auto range = allocator_.ranges_.find(heap);
    allocator_.note(MemoryEntry::Kind::ReleaseHeap, range->second.memory.base(), bytes);
    allocator_.ranges_.erase(range);
  }
  std::uint64_t finishedJobs() override {
    const JobOrder& jobs = allocator_.options_.jobs;
    return jobs.finished ? jobs.finished() : 0;
  }
  // Unlocks, since jobs may free. All state may have changed afterwards.
  void waitForJobs() override {
    if (!allocator_.options_.jobs.wait) return;
    lock_.unlock();
    allocator_.options_.jobs.wait();
    lock_.lock();
  }

 private:
  HeapAllocator& allocator_;
  std::unique_lock<std::mutex> lock_;
};

HeapAllocator::HeapAllocator(AllocatorLimits limits, MemoryOptions options)
    : limits_(limits),
      options_(std::move(options)),
      heaps_({.recommendedBytes = limits.recommendedBytes,
              .lowWatermarkRatio = limits.lowWatermarkRatio,
              .highWatermarkRatio = limits.highWatermarkRatio},
             options_.limitsRequestsOnly) {}

HeapAllocator::Outcome HeapAllocator::allocate(std::uint64_t bytes) {
  return allocateFrom(MpsHeaps::poolFor(bytes), bytes);
}

HeapAllocator::Outcome HeapAllocator::allocateScalar(std::uint64_t bytes) {
  return allocateFrom(MpsHeaps::PoolKind::Scalar, bytes);
}

HeapAllocator::Outcome HeapAllocator::allocateFrom(MpsHeaps::PoolKind kind, std::uint64_t bytes) {
  Memory memory(*this);
  const bool refuses = ++allocations_ == options_.outOfMemoryAt;
  if (refuses) heaps_.emptyCache(memory);
  const MpsHeaps::Block number =
      refuses ? MpsHeaps::kRefused : heaps_.allocate(kind, bytes, memory);
  if (number == MpsHeaps::kRefused) return refuse(MpsHeaps::aligned(bytes), bytes);
  const MpsHeaps::Place& place = heaps_.placeOf(number);
  HeapRange& range = ranges_.at(place.heap);
  range.usedBytes = std::max(range.usedBytes, place.offset + place.bytes);
  if (number >= blocks_.size()) blocks_.resize(number + 1);
  DeviceBlock& block = blocks_[number];
  block.data_ = range.memory.base() + place.offset;
  block.bytes_ = place.bytes;
  block.number_ = number;
  note(MemoryEntry::Kind::Allocate, block.data_, block.bytes_, bytes);
  return &block;
}

OutOfMemory HeapAllocator::refuse(std::uint64_t bytes, std::uint64_t requestedBytes) {
  ++refusals_;
  note(MemoryEntry::Kind::OutOfMemory, nullptr, bytes, requestedBytes);
  const MpsHeaps::Counters& counters = heaps_.counters();
  return {counters.heapBytes, counters.driverBytes - counters.heapBytes, heaps_.highWatermark(),
          bytes};
}

void HeapAllocator::free(DeviceBlock* block) {
  const std::uint64_t lastJob = options_.jobs.submitted ? options_.jobs.submitted() : 0;
  const std::lock_guard lock(mutex_);
  heaps_.free(block->number_, lastJob);
  note(MemoryEntry::Kind::Free, block->data_, block->bytes_);
}

std::optional<OutOfMemory> HeapAllocator::holdGraph(std::uint64_t bytes) {
  Memory memory(*this);
  if (!heaps_.holdGraph(bytes, memory)) return refuse(bytes, bytes);
  note(MemoryEntry::Kind::GraphCache, nullptr, bytes);
  return std::nullopt;
}

void HeapAllocator::releaseGraphs() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes = heaps_.releaseGraphs();
  if (bytes > 0) note(MemoryEntry::Kind::ReleaseGraphs, nullptr, bytes);
}

void HeapAllocator::note(MemoryEntry::Kind kind, const void* address, std::uint64_t bytes,
                         std::uint64_t requestedBytes) const {
  if (!options_.ledger) return;
  MemoryEntry entry;
  entry.kind = kind;
  entry.timeNs = deviceClockNs();
  entry.address = reinterpret_cast<std::uintptr_t>(address);
  entry.bytes = bytes;
  entry.requestedBytes = requestedBytes;
  entry.currentBytes = heaps_.counters().currentBytes;
  entry.driverBytes = heaps_.counters().driverBytes;
  options_.ledger->add(entry);
}

void HeapAllocator::emptyCache() {
  Memory memory(*this);
  heaps_.emptyCache(memory);
}

AllocatorLimits HeapAllocator::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

void HeapAllocator::setHighWatermarkRatio(double ratio) {
  const std::lock_guard lock(mutex_);
  limits_.highWatermarkRatio = ratio;
  heaps_.setHighWatermarkRatio(ratio);
}

MemoryCounters HeapAllocator::counters() const {
  const std::lock_guard lock(mutex_);
  return {heaps_.counters(), refusals_};
}

void HeapAllocator::resetPeaks() {
  const std::lock_guard lock(mutex_);
  heaps_.resetPeaks();
}

void HeapAllocator::resetAccumulated() {
  const std::lock_guard lock(mutex_);
  heaps_.resetAccumulated();
  refusals_ = 0;
}

std::uint64_t HeapAllocator::residentBytes() const {
  std::vector<std::pair<std::byte*, std::uint64_t>> used;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [heap, range] : ranges_) {
      used.emplace_back(range.memory.base(), range.usedBytes);
    }
  }
  // Without the lock: for many GiB the kernel takes milliseconds.
  std::uint64_t resident = 0;
  for (const auto& [base, bytes] : used) resident += highwater::simmps::residentBytes(base, bytes);
  return resident;
}

}  // namespace highwater::simmps

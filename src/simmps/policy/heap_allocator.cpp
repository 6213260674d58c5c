#include "simmps/policy/heap_allocator.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace highwater::simmps {
namespace {

std::uint64_t roundUp(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::uint64_t share(double ratio, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(ratio * static_cast<double>(bytes));
}

// Rounding up a larger request would overflow; no machine has that much.
constexpr std::uint64_t kLargestRequest = std::numeric_limits<std::uint64_t>::max() / 4;

}  // namespace

HeapAllocator::HeapAllocator(AllocatorLimits limits, MemoryOptions options)
    : limits_(limits), options_(std::move(options)) {
  for (const PoolKind kind : {PoolKind::Small, PoolKind::Large, PoolKind::Scalar}) {
    pool(kind).kind = kind;
  }
}

HeapAllocator::~HeapAllocator() {
  for (const Pool& each : pools_) {
    for (const DeviceBlock* block : each.cached) delete block;
  }
}

std::uint64_t HeapAllocator::maxAllowedBytes() const {
  return limits_.highWatermarkRatio == 0
             ? 0
             : share(limits_.highWatermarkRatio, limits_.recommendedBytes);
}

bool HeapAllocator::exceedsHighWatermark(std::uint64_t more) const {
  return limits_.highWatermarkRatio > 0 && counters_.driverBytes + more > maxAllowedBytes();
}

// PyTorch counts the distance to the low watermark in whole MiB, so less than one is zero.
bool HeapAllocator::isUnderPressure() const {
  return limits_.lowWatermarkRatio > 0 &&
         counters_.driverBytes + kMiB > share(limits_.lowWatermarkRatio, limits_.recommendedBytes);
}

HeapAllocator::Outcome HeapAllocator::allocate(std::uint64_t bytes) {
  return allocateFrom(bytes <= kMaxSmallAllocation ? PoolKind::Small : PoolKind::Large, bytes);
}

HeapAllocator::Outcome HeapAllocator::allocateScalar(std::uint64_t bytes) {
  return allocateFrom(PoolKind::Scalar, bytes);
}

HeapAllocator::Outcome HeapAllocator::allocateFrom(PoolKind kind, std::uint64_t bytes) {
  Lock lock(mutex_);
  const std::uint64_t aligned = roundUp(std::min(bytes, kLargestRequest), kAlignment);
  Request request{aligned, bytes, pool(kind), kind == PoolKind::Large && isUnderPressure()};
  if (++allocations_ == options_.outOfMemoryAt) {
    releaseAll(lock);
    return refuse(aligned, bytes);
  }
  DeviceBlock* block = find(request, lock);
  if (!block) return refuse(aligned, bytes);
  return handOut(block, request);
}

DeviceBlock* HeapAllocator::find(Request& request, Lock& lock) {
  if (DeviceBlock* block = reuse(request, lock)) return block;
  if (request.underPressure && request.bytes < request.pool.cachedBytes) collectOld(request);
  if (DeviceBlock* block = carve(request)) return block;
  // PyTorch runs callbacks here, which may free blocks.
  if (DeviceBlock* block = reuse(request, lock)) return block;
  ++counters_.retries;
  if (releaseEnough(request, lock)) {
    if (DeviceBlock* block = carve(request)) return block;
  }
  releaseAll(lock);
  return carve(request);
}

HeapAllocator::Outcome HeapAllocator::handOut(DeviceBlock* block, const Request& request) {
  counters_.currentBytes += block->bytes_;
  counters_.currentPeakBytes = std::max(counters_.currentPeakBytes, counters_.currentBytes);
  counters_.allocatedBytes += block->bytes_;
  counters_.requestedBytes += request.requestedBytes;
  ++counters_.liveBlocks;
  note(MemoryEntry::Kind::Allocate, block->data_, block->bytes_, request.requestedBytes);
  return block;
}

OutOfMemory HeapAllocator::refuse(std::uint64_t bytes, std::uint64_t requestedBytes) {
  ++counters_.outOfMemories;
  note(MemoryEntry::Kind::OutOfMemory, nullptr, bytes, requestedBytes);
  return {counters_.heapBytes, counters_.driverBytes - counters_.heapBytes, maxAllowedBytes(),
          bytes};
}

void HeapAllocator::free(DeviceBlock* block) {
  const std::uint64_t lastJob = options_.jobs.submitted ? options_.jobs.submitted() : 0;
  const Lock lock(mutex_);
  Pool& home = pool(block->pool_);
  block->lastJob_ = lastJob;
  block->cachedSince_ = home.requests;
  home.cached.insert(block);
  home.cachedBytes += block->bytes_;
  counters_.currentBytes -= block->bytes_;
  counters_.freedBytes += block->bytes_;
  --counters_.liveBlocks;
  note(MemoryEntry::Kind::Free, block->data_, block->bytes_);
}

DeviceBlock* HeapAllocator::reuse(Request& request, Lock& lock) {
  if (exceedsHighWatermark(request.bytes)) return nullptr;
  Pool& from = request.pool;
  // Age matters for collection only, which skips small blocks.
  if (from.kind == PoolKind::Large && limits_.lowWatermarkRatio > 0) ++from.requests;
  DeviceBlock* block = bestCached(request, lock);
  if (!block) return nullptr;
  from.cached.erase(block);
  from.cachedBytes -= block->bytes_;
  return block;
}

DeviceBlock* HeapAllocator::bestCached(Request& request, Lock& lock) {
  DeviceBlock key;
  key.bytes_ = request.bytes;
  for (bool waited = false;; waited = true) {
    const auto best = request.pool.cached.lower_bound(&key);
    if (best == request.pool.cached.end()) return nullptr;
    DeviceBlock* block = *best;
    if (block->bytes_ <= request.bytes + kMaxReuseSlack) return block;
    // Far too large: prefer room in an existing heap, or this block's room.
    if (heapFor(request)) return nullptr;
    noteFinishedJobs();
    if (isIdle(block)) {
      release(block, waited ? EmptyHeap::Release : EmptyHeap::Keep);
      request.underPressure = request.underPressure && waited;
      return nullptr;
    }
    if (!request.underPressure) return block;
    waitForJobs(lock);
  }
}

DeviceBlock* HeapAllocator::carve(const Request& request) {
  if (exceedsHighWatermark(request.bytes)) return nullptr;
  MemoryHeap* heap = heapFor(request);
  if (!heap) heap = addHeap(request);
  if (!heap) return nullptr;
  auto* block = new DeviceBlock;
  block->data_ = heap->take(request.bytes);
  block->bytes_ = request.bytes;
  block->id_ = ++lastBlockId_;
  block->heap_ = heap;
  block->pool_ = request.pool.kind;
  return block;
}

MemoryHeap* HeapAllocator::heapFor(const Request& request) const {
  MemoryHeap* best = nullptr;
  for (const auto& [id, heap] : request.pool.heaps) {
    if (heap->available() < request.bytes) continue;
    if (!best || heap->available() < best->available()) best = heap.get();
  }
  return best;
}

MemoryHeap* HeapAllocator::addHeap(const Request& request) {
  const std::uint64_t own = roundUp(request.bytes, kOwnHeapRounding);
  std::uint64_t tier = own;
  if (request.bytes <= kMaxSmallAllocation) {
    tier = kSmallHeap;
  } else if (request.bytes < kMinLargeAllocation) {
    tier = kLargeHeap;
  } else if (request.bytes < kXLargeHeap / 2 && !request.underPressure) {
    tier = kXLargeHeap;
  }
  for (const std::uint64_t bytes : {tier, own}) {
    if (!options_.limitsRequestsOnly && exceedsHighWatermark(bytes)) continue;
    if (MemoryHeap* heap = reserveHeap(request.pool, bytes, bytes != own)) return heap;
  }
  return nullptr;
}

MemoryHeap* HeapAllocator::reserveHeap(Pool& home, std::uint64_t bytes, bool split) {
  auto reserved = MemoryHeap::reserve(lastHeapId_ + 1, bytes, split);
  if (!reserved) return nullptr;
  const auto* heap = home.heaps.emplace(++lastHeapId_, std::move(reserved)).first->second.get();
  counters_.heapBytes += bytes;
  counters_.heapPeakBytes = std::max(counters_.heapPeakBytes, counters_.heapBytes);
  counters_.reservedBytes += bytes;
  ++counters_.heaps;
  addDriver(bytes);
  note(MemoryEntry::Kind::ReserveHeap, heap->base(), bytes);
  return home.heaps.at(lastHeapId_).get();
}

void HeapAllocator::addDriver(std::uint64_t bytes) {
  counters_.driverBytes += bytes;
  counters_.driverPeakBytes = std::max(counters_.driverPeakBytes, counters_.driverBytes);
}

std::optional<OutOfMemory> HeapAllocator::holdGraph(std::uint64_t bytes) {
  Lock lock(mutex_);
  const bool isLimited = !options_.limitsRequestsOnly;
  if (isLimited && exceedsHighWatermark(bytes)) releaseAll(lock);
  if (isLimited && exceedsHighWatermark(bytes)) return refuse(bytes, bytes);
  counters_.graphBytes += bytes;
  addDriver(bytes);
  note(MemoryEntry::Kind::GraphCache, nullptr, bytes);
  return std::nullopt;
}

void HeapAllocator::releaseGraphs() {
  const Lock lock(mutex_);
  const std::uint64_t bytes = std::exchange(counters_.graphBytes, 0);
  if (bytes == 0) return;
  counters_.driverBytes -= bytes;
  note(MemoryEntry::Kind::ReleaseGraphs, nullptr, bytes);
}

// Releases blocks of more than average age, until driver would be at the low watermark if all of
// their memory were returned. It is not: heaps that hold several blocks stay, even if empty.
void HeapAllocator::collectOld(const Request& request) {
  const std::uint64_t low = share(limits_.lowWatermarkRatio, limits_.recommendedBytes);
  if (counters_.driverBytes < low) return;
  const std::uint64_t target = counters_.driverBytes - low;
  Pool& from = request.pool;
  noteFinishedJobs();
  const auto age = [&from](const DeviceBlock* block) {
    return static_cast<double>(from.requests - block->cachedSince_);
  };
  double totalAge = 0;
  std::uint64_t idle = 0, collected = 0;
  for (const DeviceBlock* block : from.cached) {
    if (!isIdle(block)) continue;
    totalAge += age(block);
    ++idle;
  }
  if (idle == 0) return;
  bool releasedOne = true;
  while (collected < target && releasedOne && idle > 0) {
    const double average = totalAge / static_cast<double>(idle);
    releasedOne = false;
    for (auto it = from.cached.begin(); it != from.cached.end() && collected < target;) {
      DeviceBlock* block = *it++;
      if (age(block) < average || !isIdle(block)) continue;
      collected += block->bytes_;
      totalAge -= age(block);
      --idle;
      release(block, block->heap_->split() ? EmptyHeap::Keep : EmptyHeap::Release);
      releasedOne = true;
    }
  }
}

/// False if the cached blocks are smaller than the request in total.
bool HeapAllocator::releaseEnough(const Request& request, Lock& lock) {
  Pool& from = request.pool;
  const auto idle = [this](const DeviceBlock* block) { return isIdle(block); };
  noteFinishedJobs();
  if (!std::all_of(from.cached.begin(), from.cached.end(), idle)) waitForJobs(lock);
  DeviceBlock key;
  key.bytes_ = request.bytes;
  const auto fitting = std::find_if(from.cached.lower_bound(&key), from.cached.end(), idle);
  if (fitting != from.cached.end()) {
    release(*fitting, EmptyHeap::Release);
    return true;
  }
  // No single block is large enough: release the largest first until the sum is.
  std::uint64_t released = 0;
  for (auto it = from.cached.end(); released < request.bytes && it != from.cached.begin();) {
    DeviceBlock* largest = *--it;
    if (!idle(largest)) continue;
    released += largest->bytes_;
    ++it;
    release(largest, EmptyHeap::Release);
  }
  return released > 0 && released >= request.bytes;
}

void HeapAllocator::releaseAll(Lock& lock) {
  waitForJobs(lock);
  for (Pool& each : pools_) releaseCached(each);
}

void HeapAllocator::releaseCached(Pool& from) {
  if (from.cached.empty()) return;
  for (auto it = from.cached.begin(); it != from.cached.end();) {
    DeviceBlock* block = *it++;
    // Another thread may have freed it since the wait, and its jobs may still run.
    if (isIdle(block)) release(block, EmptyHeap::Release);
  }
}

void HeapAllocator::release(DeviceBlock* block, EmptyHeap whatThen) {
  Pool& home = pool(block->pool_);
  home.cached.erase(block);
  home.cachedBytes -= block->bytes_;
  MemoryHeap& heap = *block->heap_;
  heap.giveBack(block->data_, block->bytes_);
  delete block;
  if (heap.empty() && whatThen == EmptyHeap::Release) releaseHeap(home, heap);
}

void HeapAllocator::releaseHeap(Pool& home, const MemoryHeap& heap) {
  counters_.heapBytes -= heap.bytes();
  counters_.driverBytes -= heap.bytes();
  counters_.releasedBytes += heap.bytes();
  --counters_.heaps;
  note(MemoryEntry::Kind::ReleaseHeap, heap.base(), heap.bytes());
  home.heaps.erase(heap.id());
}

void HeapAllocator::noteFinishedJobs() {
  if (!options_.jobs.finished) return;
  finishedJobs_ = std::max(finishedJobs_, options_.jobs.finished());
}

void HeapAllocator::waitForJobs(Lock& lock) {
  if (!options_.jobs.wait) return;
  lock.unlock();
  options_.jobs.wait();
  lock.lock();
  noteFinishedJobs();
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
  entry.currentBytes = counters_.currentBytes;
  entry.driverBytes = counters_.driverBytes;
  options_.ledger->add(entry);
}

void HeapAllocator::emptyCache() {
  Lock lock(mutex_);
  releaseAll(lock);
}

AllocatorLimits HeapAllocator::limits() const {
  const Lock lock(mutex_);
  return limits_;
}

void HeapAllocator::setHighWatermarkRatio(double ratio) {
  const Lock lock(mutex_);
  limits_.highWatermarkRatio = ratio;
}

MemoryCounters HeapAllocator::counters() const {
  const Lock lock(mutex_);
  return counters_;
}

void HeapAllocator::resetPeaks() {
  const Lock lock(mutex_);
  counters_.currentPeakBytes = counters_.currentBytes;
  counters_.heapPeakBytes = counters_.heapBytes;
  counters_.driverPeakBytes = counters_.driverBytes;
}

void HeapAllocator::resetAccumulated() {
  const Lock lock(mutex_);
  counters_.allocatedBytes = counters_.freedBytes = 0;
  counters_.reservedBytes = counters_.releasedBytes = 0;
  counters_.requestedBytes = counters_.retries = counters_.outOfMemories = 0;
}

std::uint64_t HeapAllocator::residentBytes() const {
  std::vector<MemoryHeap::Range> used;
  {
    const Lock lock(mutex_);
    for (const Pool& each : pools_) {
      for (const auto& [id, heap] : each.heaps) used.push_back(heap->usedRange());
    }
  }
  // Without the lock: for many GiB the kernel takes milliseconds.
  std::uint64_t resident = 0;
  for (const MemoryHeap::Range& range : used) resident += range.residentBytes();
  return resident;
}

}  // namespace highwater::simmps

#include "simmps/heap_allocator.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace highwater::simmps {
namespace {

std::uint64_t roundUp(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::uint64_t share(double ratio, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(ratio * static_cast<double>(bytes));
}

// Past this, rounding up would overflow; no machine has that much.
constexpr std::uint64_t kLargestRequest = std::numeric_limits<std::uint64_t>::max() / 4;

}  // namespace

HeapAllocator::HeapAllocator(MemoryLimits limits, std::function<void()> beforeRelease)
    : limits_(limits), beforeRelease_(std::move(beforeRelease)) {}

HeapAllocator::~HeapAllocator() {
  for (Pool* each : {&small_, &large_}) {
    for (DeviceBlock* block : each->cached) delete block;
  }
}

std::uint64_t HeapAllocator::maxAllowedBytes() const {
  return limits_.highWatermarkRatio == 0
             ? 0
             : share(limits_.highWatermarkRatio, limits_.recommendedBytes);
}

bool HeapAllocator::isUnderPressure() const {
  return limits_.lowWatermarkRatio > 0 &&
         counters_.driverBytes >= share(limits_.lowWatermarkRatio, limits_.recommendedBytes);
}

HeapAllocator::Outcome HeapAllocator::allocate(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const std::uint64_t aligned = roundUp(std::min(bytes, kLargestRequest), kAlignment);
  const bool small = aligned <= kMaxSmallAllocation;
  const Request request{aligned, small, !small && isUnderPressure()};

  DeviceBlock* block = reuse(request);
  if (!block) {
    if (request.underPressure && aligned < pool(small).cachedBytes) collectOld(request);
    block = carve(request);
  }
  if (!block) {
    ++counters_.retries;
    if (releaseEnough(request)) block = carve(request);
  }
  if (!block) {
    // Both pools at once: neither may keep the other's memory from a request that must fail else.
    const bool released = releaseAll(large_) | releaseAll(small_);
    if (released) block = carve(request);
  }
  if (!block) {
    ++counters_.outOfMemories;
    return OutOfMemory{counters_.currentBytes, counters_.driverBytes - counters_.currentBytes,
                       maxAllowedBytes(), aligned};
  }
  return handOut(block, bytes);
}

HeapAllocator::Outcome HeapAllocator::handOut(DeviceBlock* block, std::uint64_t requestedBytes) {
  counters_.currentBytes += block->bytes_;
  counters_.currentPeakBytes = std::max(counters_.currentPeakBytes, counters_.currentBytes);
  counters_.allocatedBytes += block->bytes_;
  counters_.requestedBytes += requestedBytes;
  ++counters_.liveBlocks;
  return block;
}

void HeapAllocator::free(DeviceBlock* block) {
  std::lock_guard lock(mutex_);
  counters_.currentBytes -= block->bytes_;
  counters_.freedBytes += block->bytes_;
  --counters_.liveBlocks;
  block->age_ = 0;
  Pool& home = pool(block->small_);
  home.cached.insert(block);
  home.cachedBytes += block->bytes_;
}

DeviceBlock* HeapAllocator::reuse(const Request& request) {
  Pool& from = pool(request.small);
  // Ages only matter to the collection, which spares the small pool.
  if (!request.small && limits_.lowWatermarkRatio > 0) {
    for (DeviceBlock* block : from.cached) ++block->age_;
  }
  DeviceBlock key;
  key.bytes_ = request.bytes;
  const auto best = from.cached.lower_bound(&key);
  if (best == from.cached.end() || (*best)->bytes_ > request.bytes + kMaxReuseSlack) return nullptr;
  DeviceBlock* block = *best;
  from.cached.erase(best);
  from.cachedBytes -= block->bytes_;
  return block;
}

DeviceBlock* HeapAllocator::carve(const Request& request) {
  MemoryHeap* heap = heapFor(request);
  if (!heap) heap = addHeap(request);
  if (!heap) return nullptr;
  auto* block = new DeviceBlock;
  block->data_ = heap->take(request.bytes);
  block->bytes_ = request.bytes;
  block->heap_ = heap;
  block->small_ = request.small;
  return block;
}

MemoryHeap* HeapAllocator::heapFor(const Request& request) {
  MemoryHeap* best = nullptr;
  std::uint64_t bestBytes = 0;
  for (const auto& heap : pool(request.small).heaps) {
    const auto fit = heap->bestFit(request.bytes);
    if (fit && (!best || *fit < bestBytes)) {
      best = heap.get();
      bestBytes = *fit;
    }
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
  const std::uint64_t limit = maxAllowedBytes();
  const auto fits = [&](std::uint64_t bytes) {
    return limit == 0 || (bytes <= limit && counters_.driverBytes <= limit - bytes);
  };
  for (const std::uint64_t bytes : {tier, own}) {
    if (!fits(bytes)) continue;
    const bool shared = bytes != own || request.bytes < kMinLargeAllocation;
    auto heap = MemoryHeap::reserve(bytes, shared);
    if (!heap) continue;
    counters_.driverBytes += bytes;
    counters_.driverPeakBytes = std::max(counters_.driverPeakBytes, counters_.driverBytes);
    counters_.reservedBytes += bytes;
    ++counters_.heaps;
    Pool& home = pool(request.small);
    home.heaps.push_back(std::move(heap));
    return home.heaps.back().get();
  }
  return nullptr;
}

void HeapAllocator::collectOld(const Request& request) {
  const std::uint64_t low = share(limits_.lowWatermarkRatio, limits_.recommendedBytes);
  if (counters_.driverBytes < low) return;
  const std::uint64_t target = counters_.driverBytes - low;
  Pool& from = pool(request.small);
  waitForJobs();
  std::uint64_t collected = 0;
  bool releasedOne = true;
  while (collected < target && releasedOne && !from.cached.empty()) {
    double total = 0;
    for (const DeviceBlock* block : from.cached) total += static_cast<double>(block->age_);
    const double average = total / static_cast<double>(from.cached.size());
    releasedOne = false;
    for (auto it = from.cached.begin(); it != from.cached.end() && collected < target;) {
      DeviceBlock* block = *it++;
      if (static_cast<double>(block->age_) < average) continue;
      collected += block->bytes_;
      release(from, block);
      releasedOne = true;
    }
  }
}

bool HeapAllocator::releaseEnough(const Request& request) {
  Pool& from = pool(request.small);
  if (from.cached.empty()) return false;
  waitForJobs();
  DeviceBlock key;
  key.bytes_ = request.bytes;
  if (const auto fitting = from.cached.lower_bound(&key); fitting != from.cached.end()) {
    release(from, *fitting);
    return true;
  }
  // None is large enough alone: the largest first, until their sum is.
  std::uint64_t released = 0;
  while (released < request.bytes && !from.cached.empty()) {
    DeviceBlock* largest = *from.cached.rbegin();
    released += largest->bytes_;
    release(from, largest);
  }
  return true;
}

bool HeapAllocator::releaseAll(Pool& from) {
  if (from.cached.empty()) return false;
  waitForJobs();
  while (!from.cached.empty()) release(from, *from.cached.begin());
  return true;
}

void HeapAllocator::release(Pool& from, DeviceBlock* block) {
  from.cached.erase(block);
  from.cachedBytes -= block->bytes_;
  MemoryHeap* heap = block->heap_;
  heap->giveBack(block->data_, block->bytes_);
  delete block;
  if (!heap->empty()) return;
  counters_.driverBytes -= heap->bytes();
  counters_.releasedBytes += heap->bytes();
  --counters_.heaps;
  std::erase_if(from.heaps, [heap](const auto& each) { return each.get() == heap; });
}

void HeapAllocator::waitForJobs() {
  if (beforeRelease_) beforeRelease_();
}

void HeapAllocator::emptyCache() {
  std::lock_guard lock(mutex_);
  releaseAll(large_);
  releaseAll(small_);
}

MemoryLimits HeapAllocator::limits() const {
  std::lock_guard lock(mutex_);
  return limits_;
}

void HeapAllocator::setHighWatermarkRatio(double ratio) {
  std::lock_guard lock(mutex_);
  limits_.highWatermarkRatio = ratio;
}

MemoryCounters HeapAllocator::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

void HeapAllocator::resetPeaks() {
  std::lock_guard lock(mutex_);
  counters_.currentPeakBytes = counters_.currentBytes;
  counters_.driverPeakBytes = counters_.driverBytes;
}

void HeapAllocator::resetAccumulated() {
  std::lock_guard lock(mutex_);
  counters_.allocatedBytes = counters_.freedBytes = 0;
  counters_.reservedBytes = counters_.releasedBytes = 0;
  counters_.requestedBytes = counters_.retries = counters_.outOfMemories = 0;
}

}  // namespace highwater::simmps

#include "core/mps_heaps.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/units.h"

namespace highwater {
namespace {

// Rounding up a larger request might overflow; no machine has that much.
constexpr std::uint64_t kLargestRequest = 1ULL << 60;

std::uint64_t roundUp(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::uint64_t share(double ratio, std::uint64_t bytes) {
  return wholeBytes(ratio * static_cast<double>(bytes));
}

}  // namespace

MpsHeaps::MpsHeaps(const MemoryLimits& limits, bool limitsRequestsOnly)
    : recommendedBytes_(limits.recommendedBytes),
      highBytes_(share(limits.highWatermarkRatio, limits.recommendedBytes)),
      lowBytes_(share(limits.lowWatermarkRatio, limits.recommendedBytes)),
      limitsRequestsOnly_(limitsRequestsOnly) {}

void MpsHeaps::setHighWatermarkRatio(double ratio) {
  highBytes_ = share(ratio, recommendedBytes_);
}

std::uint64_t MpsHeaps::Heap::take(std::uint64_t wanted) {
  const auto [size, offset] = *bySize_.lower_bound({wanted, 0});
  remove(offset, size);
  if (size > wanted) add(offset + wanted, size - wanted);
  ++blocks;
  return offset;
}

/// Merges the extent with its free neighbours.
void MpsHeaps::Heap::giveBack(std::uint64_t offset, std::uint64_t size) {
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto [start, length] = *std::prev(next);
    if (start + length == offset) {
      remove(start, length);
      offset = start;
      size += length;
    }
  }
  if (next != free_.end() && next->first == offset + size) {
    const std::uint64_t length = next->second;
    remove(next->first, length);
    size += length;
  }
  add(offset, size);
  --blocks;
}

void MpsHeaps::Heap::add(std::uint64_t offset, std::uint64_t size) {
  free_.emplace(offset, size);
  bySize_.emplace(size, offset);
}

void MpsHeaps::Heap::remove(std::uint64_t offset, std::uint64_t size) {
  free_.erase(offset);
  bySize_.erase({size, offset});
}

MpsHeaps::PoolKind MpsHeaps::poolFor(std::uint64_t bytes) {
  return bytes <= HeapRules::kMaxSmall ? PoolKind::Small : PoolKind::Large;
}

std::uint64_t MpsHeaps::aligned(std::uint64_t bytes) {
  return roundUp(std::clamp<std::uint64_t>(bytes, 1, kLargestRequest), HeapRules::kAlignment);
}

bool MpsHeaps::exceedsHigh(std::uint64_t more) const {
  return highBytes_ > 0 && counters_.driverBytes + more > highBytes_;
}

// PyTorch counts the distance to the low watermark in whole MiB, so less than one is zero.
bool MpsHeaps::isUnderPressure() const {
  return lowBytes_ > 0 && counters_.driverBytes + kMiB > lowBytes_;
}

MpsHeaps::Block MpsHeaps::allocate(PoolKind kind, std::uint64_t bytes, Device& device) {
  Request request{aligned(bytes), kind, pool(kind), kind == PoolKind::Large && isUnderPressure()};
  const Block block = find(request, device);
  if (block == kRefused) return kRefused;
  const std::uint64_t granted = blocks_[block].place.bytes;
  counters_.currentBytes += granted;
  counters_.currentPeakBytes = std::max(counters_.currentPeakBytes, counters_.currentBytes);
  counters_.allocatedBytes += granted;
  counters_.requestedBytes += bytes;
  ++counters_.liveBlocks;
  return block;
}

MpsHeaps::Block MpsHeaps::allocate(std::uint64_t bytes) {
  Device none;
  return allocate(poolFor(bytes), bytes, none);
}

MpsHeaps::Block MpsHeaps::find(Request& request, Device& device) {
  if (const Block block = reuse(request, device); block != kRefused) return block;
  if (request.underPressure && request.bytes < request.pool.cachedBytes) {
    collectOld(request, device);
  }
  if (const Block block = carve(request, device); block != kRefused) return block;
  // PyTorch runs callbacks here, which may free blocks.
  if (const Block block = reuse(request, device); block != kRefused) return block;
  ++counters_.retries;
  if (releaseEnough(request, device)) {
    if (const Block block = carve(request, device); block != kRefused) return block;
  }
  emptyCache(device);
  return carve(request, device);
}

void MpsHeaps::free(Block block, std::uint64_t lastJob) {
  BlockState& state = blocks_[block];
  Pool& home = pool(state.pool);
  state.lastJob = lastJob;
  state.cachedSince = home.requests;
  const std::uint64_t bytes = state.place.bytes;
  home.cached.insert({bytes, state.number, block});
  home.cachedBytes += bytes;
  counters_.currentBytes -= bytes;
  counters_.freedBytes += bytes;
  --counters_.liveBlocks;
}

MpsHeaps::Block MpsHeaps::reuse(Request& request, Device& device) {
  if (exceedsHigh(request.bytes)) return kRefused;
  Pool& from = request.pool;
  // Age matters for collection only, which skips small blocks.
  if (request.kind == PoolKind::Large && lowBytes_ > 0) ++from.requests;
  const auto best = bestCached(request, device);
  if (best == from.cached.end()) return kRefused;
  const Block block = best->block;
  from.cachedBytes -= best->bytes;
  from.cached.erase(best);
  return block;
}

std::set<MpsHeaps::Cached>::iterator MpsHeaps::bestCached(Request& request, Device& device) {
  std::set<Cached>& cached = request.pool.cached;
  for (bool waited = false;; waited = true) {
    const auto best = cached.lower_bound({request.bytes, 0, 0});
    if (best == cached.end() || best->bytes <= request.bytes + HeapRules::kMaxReuseSlack) {
      return best;
    }
    // Far too large: prefer room in an existing heap, or this block's room.
    if (heapFor(request)) return cached.end();
    noteFinishedJobs(device);
    if (isIdle(*best)) {
      release(best->block, waited ? EmptyHeap::Release : EmptyHeap::Keep, device);
      request.underPressure = request.underPressure && waited;
      return cached.end();
    }
    if (!request.underPressure) return best;
    waitForJobs(device);
  }
}

MpsHeaps::Block MpsHeaps::carve(const Request& request, Device& device) {
  if (exceedsHigh(request.bytes)) return kRefused;
  HeapEntry* heap = heapFor(request);
  if (!heap) heap = addHeap(request, device);
  if (!heap) return kRefused;
  Block block = blocks_.size();
  if (unused_.empty()) {
    blocks_.emplace_back();
  } else {
    block = unused_.back();
    unused_.pop_back();
  }
  BlockState& state = blocks_[block];
  state.place = {heap->first, heap->second.take(request.bytes), request.bytes};
  state.pool = request.kind;
  state.number = ++blocksMade_;
  return block;
}

MpsHeaps::HeapEntry* MpsHeaps::heapFor(const Request& request) {
  HeapEntry* best = nullptr;
  for (HeapEntry& entry : request.pool.heaps) {
    const std::uint64_t available = entry.second.available();
    if (available < request.bytes) continue;
    if (!best || available < best->second.available()) best = &entry;
  }
  return best;
}

MpsHeaps::HeapEntry* MpsHeaps::addHeap(const Request& request, Device& device) {
  const std::uint64_t own = roundUp(request.bytes, HeapRules::kOwnHeapRounding);
  std::uint64_t tier = own;
  if (request.bytes <= HeapRules::kMaxSmall) {
    tier = HeapRules::kSmallHeap;
  } else if (request.bytes < HeapRules::kMinLarge) {
    tier = HeapRules::kLargeHeap;
  } else if (request.bytes < HeapRules::kExtraLargeHeap / 2 && !request.underPressure) {
    tier = HeapRules::kExtraLargeHeap;
  }
  for (const std::uint64_t bytes : {tier, own}) {
    if (!limitsRequestsOnly_ && exceedsHigh(bytes)) continue;
    if (HeapEntry* heap = reserveHeap(request.pool, bytes, bytes != own, device)) return heap;
  }
  return nullptr;
}

MpsHeaps::HeapEntry* MpsHeaps::reserveHeap(Pool& home, std::uint64_t bytes, bool split,
                                           Device& device) {
  const Counters before = counters_;
  counters_.heapBytes += bytes;
  counters_.heapPeakBytes = std::max(counters_.heapPeakBytes, counters_.heapBytes);
  counters_.reservedBytes += bytes;
  ++counters_.heaps;
  addDriver(bytes);
  if (!device.reserve(heapsMade_ + 1, bytes)) {
    counters_ = before;
    return nullptr;
  }
  return &*home.heaps.emplace(++heapsMade_, Heap(bytes, split)).first;
}

void MpsHeaps::addDriver(std::uint64_t bytes) {
  counters_.driverBytes += bytes;
  counters_.driverPeakBytes = std::max(counters_.driverPeakBytes, counters_.driverBytes);
}

bool MpsHeaps::holdGraph(std::uint64_t bytes, Device& device) {
  const bool isLimited = !limitsRequestsOnly_;
  if (isLimited && exceedsHigh(bytes)) emptyCache(device);
  if (isLimited && exceedsHigh(bytes)) return false;
  counters_.graphBytes += bytes;
  addDriver(bytes);
  return true;
}

std::uint64_t MpsHeaps::releaseGraphs() {
  const std::uint64_t bytes = std::exchange(counters_.graphBytes, 0);
  counters_.driverBytes -= bytes;
  return bytes;
}

// Releases blocks of more than average age, until driver would be at the low watermark if all of
// their memory were returned. It is not: heaps that hold several blocks stay, even if empty.
void MpsHeaps::collectOld(const Request& request, Device& device) {
  if (counters_.driverBytes < lowBytes_) return;
  const std::uint64_t target = counters_.driverBytes - lowBytes_;
  Pool& from = request.pool;
  noteFinishedJobs(device);
  const auto age = [&](const Cached& cached) {
    return static_cast<double>(from.requests - blocks_[cached.block].cachedSince);
  };
  double totalAge = 0;
  std::uint64_t idle = 0, collected = 0;
  for (const Cached& cached : from.cached) {
    if (!isIdle(cached)) continue;
    totalAge += age(cached);
    ++idle;
  }
  bool releasedOne = true;
  while (collected < target && releasedOne && idle > 0) {
    const double average = totalAge / static_cast<double>(idle);
    releasedOne = false;
    for (auto it = from.cached.begin(); it != from.cached.end() && collected < target;) {
      const Cached cached = *it++;
      if (age(cached) < average || !isIdle(cached)) continue;
      collected += cached.bytes;
      totalAge -= age(cached);
      --idle;
      const bool isSplit = from.heaps.at(blocks_[cached.block].place.heap).split;
      release(cached.block, isSplit ? EmptyHeap::Keep : EmptyHeap::Release, device);
      releasedOne = true;
    }
  }
}

/// False if the cached blocks are smaller than the request in total.
bool MpsHeaps::releaseEnough(const Request& request, Device& device) {
  Pool& from = request.pool;
  const auto idle = [this](const Cached& cached) { return isIdle(cached); };
  noteFinishedJobs(device);
  if (!std::all_of(from.cached.begin(), from.cached.end(), idle)) waitForJobs(device);
  const auto fitting =
      std::find_if(from.cached.lower_bound({request.bytes, 0, 0}), from.cached.end(), idle);
  if (fitting != from.cached.end()) {
    release(fitting->block, EmptyHeap::Release, device);
    return true;
  }
  // No single block is large enough: release the largest first until the sum is.
  std::uint64_t released = 0;
  for (auto it = from.cached.end(); released < request.bytes && it != from.cached.begin();) {
    const Cached largest = *--it;
    if (!idle(largest)) continue;
    released += largest.bytes;
    ++it;
    release(largest.block, EmptyHeap::Release, device);
  }
  return released > 0 && released >= request.bytes;
}

void MpsHeaps::emptyCache(Device& device) {
  waitForJobs(device);
  for (Pool& each : pools_) {
    for (auto it = each.cached.begin(); it != each.cached.end();) {
      const Cached cached = *it++;
      // Another thread may have freed it since the wait, and its jobs may still run.
      if (isIdle(cached)) release(cached.block, EmptyHeap::Release, device);
    }
  }
}

void MpsHeaps::emptyCache() {
  Device none;
  emptyCache(none);
}

void MpsHeaps::release(Block block, EmptyHeap whatThen, Device& device) {
  const BlockState& state = blocks_[block];
  Pool& home = pool(state.pool);
  home.cached.erase({state.place.bytes, state.number, block});
  home.cachedBytes -= state.place.bytes;
  unused_.push_back(block);
  const auto heap = home.heaps.find(state.place.heap);
  heap->second.giveBack(state.place.offset, state.place.bytes);
  if (heap->second.blocks > 0 || whatThen == EmptyHeap::Keep) return;
  const auto [id, bytes] = std::pair{heap->first, heap->second.bytes};
  home.heaps.erase(heap);
  counters_.heapBytes -= bytes;
  counters_.driverBytes -= bytes;
  counters_.releasedBytes += bytes;
  --counters_.heaps;
  device.release(id, bytes);
}

void MpsHeaps::noteFinishedJobs(Device& device) {
  finishedJobs_ = std::max(finishedJobs_, device.finishedJobs());
}

void MpsHeaps::waitForJobs(Device& device) {
  device.waitForJobs();
  noteFinishedJobs(device);
}

void MpsHeaps::resetPeaks() {
  counters_.currentPeakBytes = counters_.currentBytes;
  counters_.heapPeakBytes = counters_.heapBytes;
  counters_.driverPeakBytes = counters_.driverBytes;
}

void MpsHeaps::resetAccumulated() {
  counters_.allocatedBytes = counters_.freedBytes = 0;
  counters_.reservedBytes = counters_.releasedBytes = 0;
  counters_.requestedBytes = counters_.retries = 0;
}

}  // namespace highwater

#include "tuning/heap_plan.h"

#include <algorithm>

#include "core/units.h"

namespace highwater::tuning {
namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 60;

std::uint64_t roundUp(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::uint64_t share(double ratio, std::uint64_t bytes) {
  return wholeBytes(ratio * static_cast<double>(bytes));
}

}  // namespace

/// The free extents of a heap.
struct HeapPlan::Heap {
  Heap(std::size_t number, std::uint64_t size) : id(number), bytes(size) { add(0, size); }

  std::uint64_t room() const { return bySize.empty() ? 0 : bySize.rbegin()->first; }

  std::uint64_t take(std::uint64_t wanted) {
    const auto [size, offset] = *bySize.lower_bound({wanted, 0});
    remove(offset, size);
    if (size > wanted) add(offset + wanted, size - wanted);
    ++blocks;
    return offset;
  }

  void giveBack(std::uint64_t offset, std::uint64_t size) {
    --blocks;
    const auto next = free.lower_bound(offset);
    if (next != free.end() && next->first == offset + size) {
      const std::uint64_t more = next->second;
      remove(next->first, more);
      size += more;
    }
    const auto after = free.lower_bound(offset);
    if (after != free.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        const auto [start, length] = *before;
        remove(start, length);
        offset = start;
        size += length;
      }
    }
    add(offset, size);
  }

  void add(std::uint64_t offset, std::uint64_t size) {
    free[offset] = size;
    bySize.emplace(size, offset);
  }
  void remove(std::uint64_t offset, std::uint64_t size) {
    free.erase(offset);
    bySize.erase({size, offset});
  }

  std::size_t id = 0;
  std::uint64_t bytes = 0;
  std::size_t blocks = 0;
  std::map<std::uint64_t, std::uint64_t> free;
  std::set<std::pair<std::uint64_t, std::uint64_t>> bySize;
};

HeapPlan::Pool::Pool() = default;
HeapPlan::Pool::~Pool() = default;
HeapPlan::Pool::Pool(Pool&&) noexcept = default;
HeapPlan::Pool& HeapPlan::Pool::operator=(Pool&&) noexcept = default;
HeapPlan::Pool::Pool(const Pool& other) : cached(other.cached) {
  for (const auto& [id, heap] : other.heaps) heaps.emplace(id, std::make_unique<Heap>(*heap));
}

HeapPlan::HeapPlan(const MemoryLimits& limits) {
  if (limits.recommendedBytes == 0) return;
  highWatermark_ = share(limits.highWatermarkRatio, limits.recommendedBytes);
  lowWatermark_ = share(limits.lowWatermarkRatio, limits.recommendedBytes);
}

HeapPlan::~HeapPlan() = default;
HeapPlan::HeapPlan(const HeapPlan& other) = default;
HeapPlan& HeapPlan::operator=(const HeapPlan& other) {
  return *this = HeapPlan(other);
}
HeapPlan::HeapPlan(HeapPlan&&) noexcept = default;
HeapPlan& HeapPlan::operator=(HeapPlan&&) noexcept = default;

bool HeapPlan::exceeds(std::uint64_t more) const {
  return highWatermark_ > 0 && driver_ + more > highWatermark_;
}

// PyTorch counts the distance in whole MiB.
bool HeapPlan::isUnderPressure() const {
  return lowWatermark_ > 0 && driver_ + kMiB > lowWatermark_;
}

HeapPlan::Block HeapPlan::allocate(std::uint64_t bytes) {
  const std::uint64_t aligned =
      roundUp(std::clamp<std::uint64_t>(bytes, 1, kMostBytes), HeapRules::kAlignment);
  const std::size_t which = bytes <= HeapRules::kMaxSmall ? 0 : 1;
  Pool& pool = pools_[which];
  const bool underPressure = which == 1 && isUnderPressure();
  Block block = kRefused;
  if (!exceeds(aligned)) {
    block = reuse(pool, aligned);
    if (block == kRefused) block = carve(which, aligned, underPressure);
  }
  if (block == kRefused) {
    emptyCache();
    block = carve(which, aligned, underPressure);
  }
  if (block == kRefused) return kRefused;
  current_ += pieces_[block].bytes;
  peakCurrent_ = std::max(peakCurrent_, current_);
  return block;
}

void HeapPlan::free(Block block) {
  const Piece& piece = pieces_[block];
  current_ -= piece.bytes;
  pools_[piece.pool].cached.emplace(piece.bytes, block);
}

HeapPlan::Block HeapPlan::reuse(Pool& pool, std::uint64_t bytes) {
  const auto best = pool.cached.lower_bound({bytes, 0});
  if (best == pool.cached.end()) return kRefused;
  const Block block = best->second;
  if (best->first <= bytes + HeapRules::kMaxReuseSlack) {
    pool.cached.erase(best);
    return block;
  }
  // Far too large: room in a heap is preferred, else this block's own room.
  if (!roomIn(pool, bytes)) release(pool, block, true);
  return kRefused;
}

HeapPlan::Heap* HeapPlan::roomIn(const Pool& pool, std::uint64_t bytes) {
  Heap* best = nullptr;
  for (const auto& [id, heap] : pool.heaps) {
    if (heap->room() < bytes) continue;
    if (!best || heap->room() < best->room()) best = heap.get();
  }
  return best;
}

HeapPlan::Block HeapPlan::carve(std::size_t which, std::uint64_t bytes, bool underPressure) {
  if (exceeds(bytes)) return kRefused;
  Pool& pool = pools_[which];
  Heap* heap = roomIn(pool, bytes);
  if (!heap) heap = addHeap(pool, bytes, underPressure);
  if (!heap) return kRefused;
  pieces_.push_back({heap->id, heap->take(bytes), bytes, which});
  return pieces_.size() - 1;
}

HeapPlan::Heap* HeapPlan::addHeap(Pool& pool, std::uint64_t bytes, bool underPressure) {
  const std::uint64_t own = roundUp(bytes, HeapRules::kOwnHeapRounding);
  std::uint64_t tier = own;
  if (bytes <= HeapRules::kMaxSmall) {
    tier = HeapRules::kSmallHeap;
  } else if (bytes < HeapRules::kMinLarge) {
    tier = HeapRules::kLargeHeap;
  } else if (bytes < HeapRules::kExtraLargeHeap / 2 && !underPressure) {
    tier = HeapRules::kExtraLargeHeap;
  }
  for (const std::uint64_t size : {tier, own}) {
    if (exceeds(size)) continue;
    const std::size_t id = heapsMade_++;
    driver_ += size;
    peakDriver_ = std::max(peakDriver_, driver_);
    return pool.heaps.emplace(id, std::make_unique<Heap>(id, size)).first->second.get();
  }
  return nullptr;
}

void HeapPlan::release(Pool& pool, Block block, bool keepHeap) {
  const Piece& piece = pieces_[block];
  pool.cached.erase({piece.bytes, block});
  const auto heap = pool.heaps.find(piece.heap);
  heap->second->giveBack(piece.offset, piece.bytes);
  if (keepHeap || heap->second->blocks > 0) return;
  driver_ -= heap->second->bytes;
  pool.heaps.erase(heap);
}

void HeapPlan::emptyCache() {
  for (Pool& pool : pools_) {
    while (!pool.cached.empty()) release(pool, pool.cached.begin()->second, false);
  }
}

void HeapPlan::resetPeaks() {
  peakCurrent_ = current_;
  peakDriver_ = driver_;
}

}  // namespace highwater::tuning

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

/// A second implementation of the policy of PyTorch's MPS allocator, as simple as possible: a list
/// of blocks and a list of heaps, searched linearly. It shares nothing with HeapAllocator, not even
/// constants. It has no addresses: a place is a heap and an offset. The device is two counts: jobs
/// submitted and finished.
class MemoryModel {
 public:
  static constexpr std::uint64_t kMiB = 1 << 20;

  enum class Pool { Small, Large, Scalar };

  struct Block {
    std::uint64_t id = 0, bytes = 0, heap = 0, offset = 0, age = 0;
    Pool pool = Pool::Small;
    bool cached = false;
    std::uint64_t lastJob = 0;  ///< last job that may use it, once it is cached
  };

  MemoryModel(std::uint64_t recommended, double high, double low)
      : recommended_(recommended), low_(low) {
    setHigh(high);
  }

  void setHigh(double ratio) { limit_ = ratio > 0 ? scaled(ratio) : ~std::uint64_t(0); }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t current() const { return current_; }
  std::uint64_t heapBytes() const { return heapBytes_; }
  std::uint64_t driver() const { return heapBytes_ + graphs_; }
  std::size_t heapCount() const { return heaps_.size(); }
  std::uint64_t finished() const { return finished_; }
  /// Waits for jobs, to release one oversize block or to make room.
  std::uint64_t waitsForOversized() const { return waitsForOversized_; }
  std::uint64_t waitsForRoom() const { return waitsForRoom_; }

  void submit() { ++submitted_; }
  void finish(std::uint64_t jobs) { finished_ += jobs; }

  /// nullopt: out of memory
  std::optional<Block> allocate(std::uint64_t asked) {
    const std::uint64_t bytes = aligned(asked);
    const bool large = bytes > kMiB;
    const bool pressed = large && low_ > 0 && driver() + kMiB > scaled(low_);
    return allocateFrom(large ? Pool::Large : Pool::Small, bytes, pressed);
  }
  std::optional<Block> allocateScalar(std::uint64_t asked) {
    return allocateFrom(Pool::Scalar, aligned(asked), false);
  }

  void free(std::uint64_t id) {
    Block& block = *std::find_if(blocks_.begin(), blocks_.end(),
                                 [&](const Block& each) { return each.id == id; });
    block.cached = true;
    block.age = 0;
    block.lastJob = submitted_;
    current_ -= block.bytes;
  }

  void releaseAll() {
    finished_ = submitted_;
    while (const Block* any = smallest([](const Block& block) { return block.cached; })) {
      drop(*any, true);
    }
  }

  bool holdGraph(std::uint64_t bytes) {
    if (!fits(bytes)) releaseAll();
    if (!fits(bytes)) return false;
    graphs_ += bytes;
    return true;
  }

 private:
  struct Heap {
    std::uint64_t bytes = 0;
    Pool pool = Pool::Small;
    bool split = false;
  };
  struct Gap {
    std::uint64_t offset = 0, bytes = 0;
  };
  using Test = std::function<bool(const Block&)>;

  std::uint64_t scaled(double ratio) const {
    return static_cast<std::uint64_t>(ratio * static_cast<double>(recommended_));
  }
  static std::uint64_t aligned(std::uint64_t asked) { return (asked + 255) / 256 * 256; }
  bool idle(const Block& block) const { return block.lastJob <= finished_; }
  bool fits(std::uint64_t bytes) const { return bytes <= limit_ && driver() <= limit_ - bytes; }

  static bool before(const Block& a, const Block& b) {
    return a.bytes < b.bytes || (a.bytes == b.bytes && a.id < b.id);
  }
  template <typename Wanted>
  const Block* smallest(const Wanted& wanted) const {
    const Block* best = nullptr;
    for (const Block& block : blocks_) {
      if (wanted(block) && (!best || before(block, *best))) best = &block;
    }
    return best;
  }
  template <typename Wanted>
  const Block* largest(const Wanted& wanted) const {
    const Block* best = nullptr;
    for (const Block& block : blocks_) {
      if (wanted(block) && (!best || before(*best, block))) best = &block;
    }
    return best;
  }
  const Block* smallestCached(Pool pool, std::uint64_t atLeast) const {
    return smallest([&](const Block& block) {
      return block.cached && block.pool == pool && block.bytes >= atLeast;
    });
  }

  std::uint64_t cachedBytes(Pool pool) const {
    std::uint64_t sum = 0;
    for (const Block& block : blocks_) sum += block.cached && block.pool == pool ? block.bytes : 0;
    return sum;
  }

  std::vector<Gap> gaps(std::uint64_t heap) const {
    std::vector<Gap> taken, free;
    for (const Block& block : blocks_) {
      if (block.heap == heap) taken.push_back({block.offset, block.bytes});
    }
    std::sort(taken.begin(), taken.end(),
              [](const Gap& a, const Gap& b) { return a.offset < b.offset; });
    std::uint64_t at = 0;
    for (const Gap& each : taken) {
      if (each.offset > at) free.push_back({at, each.offset - at});
      at = each.offset + each.bytes;
    }
    if (at < heaps_.at(heap).bytes) free.push_back({at, heaps_.at(heap).bytes - at});
    return free;
  }

  /// The heap with the smallest largest gap that fits; 0 if none fits.
  std::uint64_t heapWithRoom(std::uint64_t bytes, Pool pool) const {
    std::uint64_t best = 0, bestRoom = 0;
    for (const auto& [id, heap] : heaps_) {
      if (heap.pool != pool) continue;
      std::uint64_t room = 0;
      for (const Gap& gap : gaps(id)) room = std::max(room, gap.bytes);
      if (room >= bytes && (best == 0 || room < bestRoom)) {
        best = id;
        bestRoom = room;
      }
    }
    return best;
  }

  std::optional<Block> allocateFrom(Pool pool, std::uint64_t bytes, bool pressed) {
    std::optional<Block> got = fromCache(bytes, pool, pressed);
    if (!got) {
      if (pressed && bytes < cachedBytes(pool)) collect();
      got = fromHeaps(bytes, pool, pressed);
    }
    if (!got) got = fromCache(bytes, pool, pressed);
    if (!got && releaseEnough(bytes, pool)) got = fromHeaps(bytes, pool, pressed);
    if (!got) {
      releaseAll();
      got = fromHeaps(bytes, pool, pressed);
    }
    if (got) current_ += got->bytes;
    return got;
  }

  std::optional<Block> fromCache(std::uint64_t bytes, Pool pool, bool& pressed) {
    if (!fits(bytes)) return std::nullopt;
    if (pool == Pool::Large && low_ > 0) {
      for (Block& block : blocks_) block.age += block.cached && block.pool == pool ? 1 : 0;
    }
    const Block* best = smallestCached(pool, bytes);
    if (!best) return std::nullopt;
    if (best->bytes > bytes + 32 * kMiB) {
      if (heapWithRoom(bytes, pool) != 0) return std::nullopt;
      if (takeBackOversized(*best, pressed)) return std::nullopt;
    }
    Block& block = blocks_[static_cast<std::size_t>(best - blocks_.data())];
    block.cached = false;
    return block;
  }

  /// False if jobs may use it and there is no pressure: the whole block is reused rather than
  /// waiting.
  bool takeBackOversized(const Block& block, bool& pressed) {
    if (idle(block)) {
      drop(block, false);
      pressed = false;
      return true;
    }
    if (!pressed) return false;
    ++waitsForOversized_;
    finished_ = submitted_;
    drop(block, true);
    return true;
  }

  std::optional<Block> fromHeaps(std::uint64_t bytes, Pool pool, bool pressed) {
    if (!fits(bytes)) return std::nullopt;
    std::uint64_t heap = heapWithRoom(bytes, pool);
    if (heap == 0) heap = newHeap(bytes, pool, pressed);
    if (heap == 0) return std::nullopt;
    Gap place{0, ~std::uint64_t(0)};
    for (const Gap& gap : gaps(heap)) {
      if (gap.bytes >= bytes && gap.bytes < place.bytes) place = gap;
    }
    blocks_.push_back({++lastBlock_, bytes, heap, place.offset, 0, pool});
    return blocks_.back();
  }

  std::uint64_t newHeap(std::uint64_t bytes, Pool pool, bool pressed) {
    const std::uint64_t own = (bytes + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
    std::uint64_t size = own;
    if (bytes <= kMiB) {
      size = 8 * kMiB;
    } else if (bytes < 10 * kMiB) {
      size = 32 * kMiB;
    } else if (bytes < 512 * kMiB && !pressed) {
      size = 1024 * kMiB;
    }
    if (!fits(size)) size = own;
    if (!fits(size)) return 0;
    heaps_[++lastHeap_] = {size, pool, size != own};
    heapBytes_ += size;
    return lastHeap_;
  }

  void collect() {
    if (driver() < scaled(low_)) return;
    const std::uint64_t target = driver() - scaled(low_);
    const auto cachedLarge = [this](const Block& block) {
      return block.cached && block.pool == Pool::Large && idle(block);
    };
    std::uint64_t reclaimed = 0;
    for (bool found = true; found && reclaimed < target;) {
      std::vector<Block> candidates;
      std::copy_if(blocks_.begin(), blocks_.end(), std::back_inserter(candidates), cachedLarge);
      std::sort(candidates.begin(), candidates.end(), before);
      double ages = 0;
      for (const Block& block : candidates) ages += static_cast<double>(block.age);
      found = false;
      for (const Block& block : candidates) {
        if (reclaimed >= target) break;
        if (static_cast<double>(block.age) < ages / static_cast<double>(candidates.size()))
          continue;
        found = true;
        reclaimed += block.bytes;
        drop(block, !heaps_.at(block.heap).split);
      }
    }
  }

  bool releaseEnough(std::uint64_t bytes, Pool pool) {
    const auto cachedHere = [pool](const Block& block) {
      return block.cached && block.pool == pool;
    };
    if (smallest([&](const Block& block) { return cachedHere(block) && !idle(block); })) {
      ++waitsForRoom_;
      finished_ = submitted_;
    }
    if (const Block* fitting = smallestCached(pool, bytes)) {
      drop(*fitting, true);
      return true;
    }
    std::uint64_t released = 0;
    while (released < bytes) {
      const Block* next = largest(cachedHere);
      if (!next) return false;
      released += next->bytes;
      drop(*next, true);
    }
    return true;
  }

  void drop(Block block, bool withHeap) {
    std::erase_if(blocks_, [&](const Block& each) { return each.id == block.id; });
    const bool used = std::any_of(blocks_.begin(), blocks_.end(),
                                  [&](const Block& each) { return each.heap == block.heap; });
    if (used || !withHeap) return;
    heapBytes_ -= heaps_.at(block.heap).bytes;
    heaps_.erase(block.heap);
  }

  const std::uint64_t recommended_;
  const double low_;
  std::uint64_t limit_ = 0;
  std::vector<Block> blocks_;
  std::map<std::uint64_t, Heap> heaps_;
  std::uint64_t current_ = 0, heapBytes_ = 0, graphs_ = 0, lastBlock_ = 0, lastHeap_ = 0;
  std::uint64_t submitted_ = 0, finished_ = 0, waitsForOversized_ = 0, waitsForRoom_ = 0;
};

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/messages.h"

namespace highwater::tuning {

/// Heap sizes and thresholds of PyTorch's MPS allocator in bytes, from its MPSAllocator.h (2.13).
struct HeapRules {
  static constexpr std::uint64_t kAlignment = 256;         ///< Metal's own is not known here
  static constexpr std::uint64_t kMaxSmall = 1ULL << 20;   ///< larger requests use the large pool
  static constexpr std::uint64_t kMinLarge = 10ULL << 20;  ///< from here on no heap of kLargeHeap
  static constexpr std::uint64_t kSmallHeap = 8ULL << 20;
  static constexpr std::uint64_t kLargeHeap = 32ULL << 20;
  static constexpr std::uint64_t kExtraLargeHeap = 1ULL << 30;  ///< for requests below half of it
  static constexpr std::uint64_t kOwnHeapRounding = 2ULL << 20;
  static constexpr std::uint64_t kMaxReuseSlack = kLargeHeap;  ///< a larger block is not reused
};

/// Plays allocations and frees through the rules of PyTorch's MPS allocator, without memory: which
/// heaps they would open and how many bytes would count as allocated. A request takes a cached
/// block that is at most 32 MiB larger, and then counts with the block's whole size; else room in a
/// heap of its pool; else a new heap; else cached blocks are released; else it is refused.
///
/// It leaves out what depends on time: blocks that the GPU still uses, and collection by age above
/// the low watermark. There it is exact only in that heaps of 1 GiB are no longer opened.
///
/// A copy goes on independently, and knows the blocks of the original by the same numbers.
class HeapPlan {
 public:
  /// Starts without heaps. Without `limits.recommendedBytes` nothing is ever refused.
  explicit HeapPlan(const MemoryLimits& limits);
  ~HeapPlan();
  HeapPlan(const HeapPlan& other);
  HeapPlan& operator=(const HeapPlan& other);
  HeapPlan(HeapPlan&&) noexcept;
  HeapPlan& operator=(HeapPlan&&) noexcept;

  using Block = std::size_t;
  /// The result of a refused request.
  static constexpr Block kRefused = ~std::size_t{0};
  /// Allocates `bytes`, over 0, and returns the block for free(), or kRefused.
  Block allocate(std::uint64_t bytes);
  /// Puts a block into the cache. Precondition: allocate() returned it, and it was not freed since.
  void free(Block block);
  /// Releases cached blocks, and the heaps that become empty.
  void emptyCache();

  [[nodiscard]] std::uint64_t current() const { return current_; }
  [[nodiscard]] std::uint64_t driver() const { return driver_; }
  [[nodiscard]] std::uint64_t peakCurrent() const { return peakCurrent_; }
  [[nodiscard]] std::uint64_t peakDriver() const { return peakDriver_; }
  /// Starts both peaks again from the current values.
  void resetPeaks();

 private:
  struct Heap;
  struct Piece {
    std::size_t heap = 0;  ///< its number within the pool
    std::uint64_t offset = 0, bytes = 0;
    std::size_t pool = 0;
  };
  struct Pool {
    Pool();
    ~Pool();
    Pool(const Pool& other);
    Pool& operator=(const Pool&) = delete;
    Pool(Pool&&) noexcept;
    Pool& operator=(Pool&&) noexcept;

    std::map<std::size_t, std::unique_ptr<Heap>> heaps;
    std::set<std::pair<std::uint64_t, Block>> cached;  ///< by size, then age
  };
  [[nodiscard]] bool exceeds(std::uint64_t more) const;
  [[nodiscard]] bool isUnderPressure() const;
  Block reuse(Pool& pool, std::uint64_t bytes);
  Block carve(std::size_t pool, std::uint64_t bytes, bool underPressure);
  static Heap* roomIn(const Pool& pool, std::uint64_t bytes);
  Heap* addHeap(Pool& pool, std::uint64_t bytes, bool underPressure);
  void release(Pool& pool, Block block, bool keepHeap);

  std::uint64_t highWatermark_ = 0, lowWatermark_ = 0;  ///< 0: none
  std::array<Pool, 2> pools_;
  std::vector<Piece> pieces_;
  std::size_t heapsMade_ = 0;
  std::uint64_t current_ = 0, driver_ = 0, peakCurrent_ = 0, peakDriver_ = 0;
};

}  // namespace highwater::tuning

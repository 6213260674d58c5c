#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace highwater::simmps {

/// One heap of the simulated device's memory, from which blocks are allocated. It is reserved
/// address space, so that a 1 GiB heap costs only the pages that tensors touch. Allocates extents
/// best-fit, since Metal's placement of buffers cannot be known; unlike Metal's figure of available
/// bytes, it does not give each block a page of its own.
class MemoryHeap {
 public:
  /// Reserves a heap of `bytes`. `id` counts the device's heaps from 1; for `split` see split().
  /// Returns null if the system refuses the address range.
  static std::unique_ptr<MemoryHeap> reserve(std::uint64_t id, std::uint64_t bytes, bool split);
  ~MemoryHeap();
  MemoryHeap(const MemoryHeap&) = delete;
  MemoryHeap& operator=(const MemoryHeap&) = delete;

  std::uint64_t id() const { return id_; }
  std::byte* base() const { return base_; }
  /// Size of the whole heap in bytes, used and free.
  std::uint64_t bytes() const { return bytes_; }
  /// True for a heap for several blocks; false if it was sized for a single one (PyTorch's
  /// is_split).
  bool split() const { return split_; }
  /// True if no block of the heap is allocated.
  bool empty() const { return blocks_ == 0; }
  /// Size in bytes of the largest free extent: what take() can serve at most.
  std::uint64_t available() const;

  /// Allocates `bytes` from the smallest free extent that holds them; null if none does.
  std::byte* take(std::uint64_t bytes);
  /// Frees an extent that take() returned for the same `bytes`, and merges it with free neighbours.
  /// Its pages stay resident.
  void giveBack(std::byte* data, std::uint64_t bytes);

  /// The part of a heap that may have been touched. May outlive the heap.
  struct Range {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;

    /// Bytes of this range that are in physical memory, in whole pages; 0 if the heap is gone.
    std::uint64_t residentBytes() const;
  };
  /// The range from the heap's start to the highest byte ever allocated.
  Range usedRange() const { return {base_, highestOffset_}; }

 private:
  using Extents = std::map<std::uint64_t, std::uint64_t>;  // offset -> bytes

  MemoryHeap(std::uint64_t id, std::byte* base, std::uint64_t bytes, bool split);
  void addExtent(std::uint64_t offset, std::uint64_t bytes);
  void removeExtent(Extents::iterator extent);

  const std::uint64_t id_;
  std::byte* const base_;
  const std::uint64_t bytes_;
  const bool split_;
  std::uint64_t blocks_ = 0;
  std::uint64_t highestOffset_ = 0;  ///< end of the highest extent ever allocated
  Extents free_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> freeBySize_;  // bytes, offset
};

}  // namespace highwater::simmps

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace highwater::simmps {

/// One heap of the device: a range of address space that is reserved, not touched, so that a 1 GiB
/// heap costs the machine only what tensors write to. Hands out extents and takes them back. Where
/// Metal would place a buffer within its heap cannot be known: here, in the smallest extent that
/// holds it. Nor does a block need a page of its own, as Metal's figure of available bytes assumes.
class MemoryHeap {
 public:
  /// Null where the system refuses the range. `id` counts the device's heaps from 1.
  static std::unique_ptr<MemoryHeap> reserve(std::uint64_t id, std::uint64_t bytes, bool split);
  ~MemoryHeap();
  MemoryHeap(const MemoryHeap&) = delete;
  MemoryHeap& operator=(const MemoryHeap&) = delete;

  std::uint64_t id() const { return id_; }
  std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  /// True for a heap made to hold several blocks; an own heap was sized for one (is_split).
  bool split() const { return split_; }
  bool empty() const { return blocks_ == 0; }
  /// Size of the largest free extent.
  std::uint64_t available() const;

  /// Takes `bytes` out of the smallest free extent that holds them; null where none does.
  std::byte* take(std::uint64_t bytes);
  /// Gives an extent back, joined with its free neighbours. What it held stays in memory.
  void giveBack(std::byte* data, std::uint64_t bytes);

  /// The part of a heap beyond which nothing was ever touched. May outlive the heap.
  struct Range {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;

    /// How much of it is in the machine's memory, in whole pages; 0 where the heap is gone.
    std::uint64_t residentBytes() const;
  };
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
  std::uint64_t highestOffset_ = 0;  ///< end of the highest extent ever taken
  Extents free_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> freeBySize_;  // bytes, offset
};

}  // namespace highwater::simmps

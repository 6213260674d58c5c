#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace highwater::simmps {

/// One heap of the device: a range of address space that is reserved, not touched, so that a 1 GiB
/// heap costs the machine only what tensors write to. Hands out extents and takes them back.
class MemoryHeap {
 public:
  /// Null where the system refuses the range.
  static std::unique_ptr<MemoryHeap> reserve(std::uint64_t bytes, bool shared);
  ~MemoryHeap();
  MemoryHeap(const MemoryHeap&) = delete;
  MemoryHeap& operator=(const MemoryHeap&) = delete;

  std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  /// True where several blocks may share the heap; an own heap holds one block.
  bool shared() const { return shared_; }
  bool empty() const { return used_ == 0; }

  /// Size of the smallest free extent that holds `bytes`; nullopt where none does.
  std::optional<std::uint64_t> bestFit(std::uint64_t bytes) const;
  /// Takes `bytes` out of the smallest free extent that holds them; null where none does.
  std::byte* take(std::uint64_t bytes);
  /// Gives an extent back, joined with its free neighbours.
  void giveBack(std::byte* data, std::uint64_t bytes);

 private:
  using Extents = std::map<std::uint64_t, std::uint64_t>;  // offset -> bytes

  MemoryHeap(std::byte* base, std::uint64_t bytes, bool shared);
  Extents::const_iterator smallestFor(std::uint64_t bytes) const;

  std::byte* const base_;
  const std::uint64_t bytes_;
  const bool shared_;
  std::uint64_t used_ = 0;
  Extents free_;
};

}  // namespace highwater::simmps

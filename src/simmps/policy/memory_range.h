#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace highwater::simmps {

/// Address space for one heap of the simulated device's memory. It is only reserved, so that a 1
/// GiB heap costs the pages that tensors touch.
class MemoryRange {
 public:
  /// Reserves `bytes`; nullopt if the system refuses the address range.
  static std::optional<MemoryRange> reserve(std::uint64_t bytes);

  /// The first byte of the range.
  std::byte* base() const { return memory_.get(); }

 private:
  struct Unmap {
    std::uint64_t bytes = 0;
    void operator()(std::byte* base) const;
  };
  MemoryRange(std::byte* base, std::uint64_t bytes) : memory_(base, Unmap{bytes}) {}

  std::unique_ptr<std::byte, Unmap> memory_;
};

/// How many of the `bytes` from `base` on, which begins a page, are in physical memory, in whole
/// pages; 0 if they are not mapped any more.
std::uint64_t residentBytes(std::byte* base, std::uint64_t bytes);

}  // namespace highwater::simmps

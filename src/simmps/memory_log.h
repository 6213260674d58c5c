#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace highwater::simmps {

/// As c10::CachingAllocator::format_size: "512 bytes", "1.50 MiB".
std::string formatSize(std::uint64_t bytes);

/// The allocator's debug output, with the words of PyTorch's own: people search for them.
class MemoryLog {
 public:
  /// Bits of PYTORCH_DEBUG_MPS_ALLOCATOR (DebugVerbosity in MPSAllocator.h).
  enum Bit : std::uint32_t {
    Profiling = 1,    ///< limits, and what is released under need
    Allocations = 2,  ///< new blocks and heaps
    Recycles = 4,     ///< reused blocks
    Releases = 8,     ///< blocks and heaps that go back to the system
    LargeOnly = 16    ///< nothing of blocks in small pools
  };

  /// Null: stderr. Silent while `verbosity` is 0.
  explicit MemoryLog(std::uint32_t verbosity = 0, std::ostream* out = nullptr);

  bool shows(Bit bit) const { return (verbosity_ & bit) != 0; }
  bool showsBlock(Bit bit, bool small) const {
    return shows(bit) && !(small && (verbosity_ & LargeOnly));
  }
  bool silent() const { return verbosity_ == 0; }
  void line(const std::string& text) const;

 private:
  std::uint32_t verbosity_;
  std::ostream* out_;
};

}  // namespace highwater::simmps

#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace highwater::simmps {

/// Writes a size as PyTorch's c10::CachingAllocator::format_size does: "512 bytes", "1.50 MiB".
std::string formatSize(std::uint64_t bytes);

/// Prints the allocator's debug lines, in PyTorch's words, since people search the web for them.
class MemoryLog {
 public:
  /// Bits of PYTORCH_DEBUG_MPS_ALLOCATOR (DebugVerbosity in MPSAllocator.h).
  enum Bit : std::uint32_t {
    Profiling = 1,    ///< limits, and releases to serve a request
    Allocations = 2,  ///< new blocks and heaps
    Recycles = 4,     ///< reused blocks
    Releases = 8,     ///< blocks and heaps returned to the system
    LargeOnly = 16    ///< omits blocks in small pools
  };

  /// Prints lines of the kinds in `verbosity` (a sum of Bit) to `out`, or to stderr if null.
  explicit MemoryLog(std::uint32_t verbosity = 0, std::ostream* out = nullptr);

  /// True if lines of this kind are to be printed.
  bool shows(Bit bit) const { return (verbosity_ & bit) != 0; }
  /// True if lines of this kind are to be printed about a block; `small`: it is in a small pool.
  bool showsBlock(Bit bit, bool small) const {
    return shows(bit) && !(small && (verbosity_ & LargeOnly));
  }
  bool silent() const { return verbosity_ == 0; }
  /// Prints one line; the caller has asked shows() or showsBlock(). Adds the line feed.
  void line(const std::string& text) const;

 private:
  std::uint32_t verbosity_;
  std::ostream* out_;
};

}  // namespace highwater::simmps

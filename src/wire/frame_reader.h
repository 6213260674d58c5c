#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"

namespace highwater::wire {

/// Splits a stream of bytes into frames (encoded messages). Checks the size that a frame claims
/// before it allocates memory for it.
class FrameReader {
 public:
  /// Appends bytes that were received. Invalidates the frame that next() returned.
  void append(std::span<const std::uint8_t> bytes);

  /// Returns the next whole frame, prefix included, or nothing if more bytes are needed. The frame
  /// is aligned to 8 bytes and valid until the next call of append() or next(). Fails with
  /// kMalformed if the frame's size is out of the limits or its identifier is wrong. The stream is
  /// then unusable, because nothing says where the next frame begins.
  [[nodiscard]] Result<std::optional<std::span<const std::uint8_t>>> next();

 private:
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;
  std::vector<std::uint8_t> frame_;
};

}  // namespace highwater::wire

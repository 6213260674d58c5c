#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"

namespace highwater::wire {

/// Cuts a stream of bytes into frames. Nothing is allocated for a size that the stream claims
/// before that size was checked.
class FrameReader {
 public:
  /// Adds bytes as they arrived.
  void append(std::span<const std::uint8_t> bytes);

  /// The next whole frame, prefix included, or nothing until more bytes arrive. It stays valid
  /// until the next call of any method and is aligned to 8 bytes. kMalformed where the stream is
  /// not one of frames: the prefix is out of limits or the identifier is wrong. After an error the
  /// stream is unusable: nothing says where the next frame begins.
  [[nodiscard]] Result<std::optional<std::span<const std::uint8_t>>> next();

  /// Bytes that belong to a frame which is not complete yet.
  [[nodiscard]] std::size_t pendingBytes() const { return buffer_.size() - begin_; }

 private:
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;
  std::vector<std::uint8_t> frame_;
};

}  // namespace highwater::wire

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// The first bytes of a frame. A frame is a size-prefixed FlatBuffer: four bytes with the size of
/// what follows (little endian), four bytes with the offset of the root table, and the identifier.
namespace highwater {

/// Size of the prefix of a frame, in bytes. The prefix holds the size of the rest of the frame,
/// little endian.
inline constexpr std::size_t kFramePrefixBytes = 4;
/// Position of the identifier kFrameIdentifier in a frame, in bytes from its start.
inline constexpr std::size_t kFrameIdentifierOffset = 8;
/// The four characters that every frame holds at kFrameIdentifierOffset.
inline constexpr std::string_view kFrameIdentifier = "HWTR";

/// The smallest size of a frame in bytes, prefix included.
inline constexpr std::size_t kMinFrameBytes = kFrameIdentifierOffset + kFrameIdentifier.size();
/// The largest size of a frame in bytes, prefix included: 4 MiB. A sender splits larger batches of
/// events into several frames.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{4} << 20;

/// True if a frame may have this size, prefix included: kMinFrameBytes to kMaxFrameBytes.
[[nodiscard]] constexpr bool isFrameSize(std::uint64_t bytes) {
  return bytes >= kMinFrameBytes && bytes <= kMaxFrameBytes;
}

/// Reads a frame's size in bytes, prefix included, from the prefix at the start of `bytes`. Does
/// not check the size: see isFrameSize(). Precondition: bytes.size() >= kFramePrefixBytes.
[[nodiscard]] constexpr std::uint64_t claimedFrameSize(std::span<const std::uint8_t> bytes) {
  std::uint64_t size = kFramePrefixBytes;
  for (unsigned i = 0; i < kFramePrefixBytes; ++i) size += std::uint64_t{bytes[i]} << (8 * i);
  return size;
}

/// The size in bytes of the frame at the start of `bytes`, prefix included. 0 if the size is not
/// from kMinFrameBytes to kMaxFrameBytes, or if `bytes` ends before the frame does. Does not check
/// the identifier.
[[nodiscard]] constexpr std::size_t frameSize(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kMinFrameBytes) return 0;
  const std::uint64_t size = claimedFrameSize(bytes);
  return isFrameSize(size) && size <= bytes.size() ? static_cast<std::size_t>(size) : 0;
}

/// True if the frame at the start of `bytes` holds kFrameIdentifier in its place. Precondition:
/// bytes.size() >= kMinFrameBytes.
[[nodiscard]] constexpr bool hasFrameIdentifier(std::span<const std::uint8_t> bytes) {
  for (std::size_t i = 0; i < kFrameIdentifier.size(); ++i) {
    if (bytes[kFrameIdentifierOffset + i] != static_cast<std::uint8_t>(kFrameIdentifier[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace highwater

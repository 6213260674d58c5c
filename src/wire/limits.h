#pragma once

#include <cstddef>
#include <cstdint>

namespace highwater::wire {

/// Raised when a peer that knows only the old frames could misread the new ones.
inline constexpr std::uint32_t kProtocolVersion = 1;

/// A frame's largest size, its four bytes of prefix included. The sender splits what is larger.
inline constexpr std::size_t kMaxFrameBytes = 4u << 20;
/// The shortest thing that can be a frame: prefix, root offset, identifier.
inline constexpr std::size_t kMinFrameBytes = 12;

/// The longest text in a frame, in bytes of UTF-8; the sender cuts what is longer.
inline constexpr std::size_t kMaxTextBytes = 64u << 10;
inline constexpr std::size_t kMaxNameBytes = 1024;

/// Bounds of plausibility that the validator holds every event to.
inline constexpr std::int64_t kMaxRunNs = std::int64_t{366} * 24 * 3600 * 1'000'000'000;
inline constexpr std::uint64_t kMaxPlausibleBytes = std::uint64_t{1} << 50;  // 1 PiB
inline constexpr std::uint32_t kMaxBatchSize = 1u << 20;
inline constexpr std::uint32_t kMaxSequenceLength = 1u << 20;

}  // namespace highwater::wire

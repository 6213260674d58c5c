#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace highwater::fuzz {

using Bytes = std::vector<std::uint8_t>;

/// Changes a stream of frames at random: bytes and numbers within a frame, or whole frames, whose
/// order, number and size change. Most results are streams of frames still, so that what comes
/// after the frame reader is reached. `other` is a stream to take frames from; it may be empty. The
/// result has at most `mostBytes` bytes.
void mutateStream(Bytes& stream, std::span<const std::uint8_t> other, std::size_t mostBytes,
                  std::mt19937_64& random);

}  // namespace highwater::fuzz

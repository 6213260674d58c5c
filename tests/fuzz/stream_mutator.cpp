#include "stream_mutator.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/frame_header.h"

namespace highwater::fuzz {
namespace {

/// The begin and size of each frame; what follows the last whole one is left out.
struct Frame {
  std::size_t begin = 0, size = 0;
};

std::vector<Frame> framesOf(std::span<const std::uint8_t> stream) {
  std::vector<Frame> frames;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t size = frameSize(stream.subspan(at));
    if (size == 0) break;
    frames.push_back({at, size});
    at += size;
  }
  return frames;
}

std::size_t below(std::size_t end, std::mt19937_64& random) {
  return end == 0 ? 0 : random() % end;
}

// At the borders of what offsets, sizes, ids and times may be.
constexpr std::array<std::uint64_t, 16> kNumbers = {
    0,       1,          2,          0x7f,       0x80,       0xff,       0x7fff,      0xffff,
    0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 50, 1ULL << 62, ~0ULL >> 1U, ~0ULL};

void changeNumber(std::span<std::uint8_t> bytes, std::mt19937_64& random) {
  const std::size_t width = std::size_t{1} << below(4, random);
  if (bytes.size() < width) return;
  const std::size_t at = below((bytes.size() - width) / width + 1, random) * width;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < width; ++i) number |= std::uint64_t{bytes[at + i]} << (8 * i);
  number = random() % 2 == 0 ? number + below(33, random) - 16
                             : kNumbers[below(kNumbers.size(), random)];
  for (std::size_t i = 0; i < width; ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(number >> (8 * i));
  }
}

void changeBytes(std::span<std::uint8_t> bytes, std::mt19937_64& random) {
  if (bytes.empty()) return;
  switch (below(4, random)) {
    case 0:
      bytes[below(bytes.size(), random)] ^= static_cast<std::uint8_t>(1U << below(8, random));
      return;
    case 1:
      bytes[below(bytes.size(), random)] = static_cast<std::uint8_t>(random());
      return;
    default:
      return changeNumber(bytes, random);
  }
}

void writeSize(Bytes& stream, std::size_t begin, std::size_t size) {
  const std::uint64_t counted = size - kFramePrefixBytes;
  for (std::size_t i = 0; i < kFramePrefixBytes; ++i) {
    stream[begin + i] = static_cast<std::uint8_t>(counted >> (8 * i));
  }
}

using Difference = Bytes::difference_type;

void cutOrGrow(Bytes& stream, const Frame& frame, std::mt19937_64& random) {
  const std::size_t at =
      frame.begin + kMinFrameBytes + below(frame.size - kMinFrameBytes + 1, random);
  const std::size_t end = frame.begin + frame.size;
  std::size_t size = frame.size;
  if (random() % 2 == 0) {
    const std::size_t gone = std::min<std::size_t>(end - at, 1 + below(32, random));
    stream.erase(stream.begin() + static_cast<Difference>(at),
                 stream.begin() + static_cast<Difference>(at + gone));
    size -= gone;
  } else {
    const std::size_t more = 1 + below(32, random);
    stream.insert(stream.begin() + static_cast<Difference>(at), more,
                  static_cast<std::uint8_t>(random()));
    size += more;
  }
  writeSize(stream, frame.begin, size);
}

void moveFrames(Bytes& stream, const std::vector<Frame>& frames,
                std::span<const std::uint8_t> other, std::mt19937_64& random) {
  const Frame& one = frames[below(frames.size(), random)];
  const auto begin = stream.begin() + static_cast<Difference>(one.begin);
  const auto end = begin + static_cast<Difference>(one.size);
  const std::vector<Frame> others = framesOf(other);
  if (random() % 3 == 0) {
    stream.erase(begin, end);
  } else if (others.empty() || random() % 2 == 0) {
    const Bytes copy(begin, end);
    const std::size_t to = frames[below(frames.size(), random)].begin;
    stream.insert(stream.begin() + static_cast<Difference>(to), copy.begin(), copy.end());
  } else {
    const Frame& theirs = others[below(others.size(), random)];
    const auto from = other.subspan(theirs.begin, theirs.size);
    stream.insert(end, from.begin(), from.end());
  }
}

}  // namespace

void mutateStream(Bytes& stream, std::span<const std::uint8_t> other, std::size_t mostBytes,
                  std::mt19937_64& random) {
  for (std::size_t times = 1 + below(4, random); times > 0; --times) {
    const std::vector<Frame> frames = framesOf(stream);
    if (frames.empty() || random() % 16 == 0) {
      changeBytes(stream, random);
      continue;
    }
    const Frame& frame = frames[below(frames.size(), random)];
    switch (below(8, random)) {
      case 0:
        moveFrames(stream, frames, other, random);
        break;
      case 1:
        cutOrGrow(stream, frame, random);
        break;
      default:
        changeBytes(std::span(stream).subspan(frame.begin + kFramePrefixBytes,
                                              frame.size - kFramePrefixBytes),
                    random);
    }
  }
  if (stream.size() > mostBytes) stream.resize(mostBytes);
}

}  // namespace highwater::fuzz

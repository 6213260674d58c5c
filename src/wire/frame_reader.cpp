#include "wire/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/events_generated.h"
#include "wire/limits.h"

namespace highwater::wire {
namespace {

constexpr std::string_view kIdentifier = "HWTR";
constexpr std::size_t kPrefixBytes = 4;
constexpr std::size_t kIdentifierOffset = 8;

}  // namespace

void FrameReader::append(std::span<const std::uint8_t> bytes) {
  if (begin_ > 0 && begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

Result<std::optional<std::span<const std::uint8_t>>> FrameReader::next() {
  using Frame = std::optional<std::span<const std::uint8_t>>;
  const std::size_t available = pendingBytes();
  if (available < kPrefixBytes) return Frame{};
  const std::uint8_t* start = buffer_.data() + begin_;
  const auto size =
      std::size_t{flatbuffers::ReadScalar<flatbuffers::uoffset_t>(start)} + kPrefixBytes;
  if (size < kMinFrameBytes || size > kMaxFrameBytes) {
    return Error{ErrorCode::kMalformed, "not a stream of frames: a frame claims " +
                                            std::to_string(size) + " bytes, allowed are " +
                                            std::to_string(kMinFrameBytes) + " to " +
                                            std::to_string(kMaxFrameBytes)};
  }
  if (available >= kMinFrameBytes &&
      std::memcmp(start + kIdentifierOffset, kIdentifier.data(), kIdentifier.size()) != 0) {
    return Error{ErrorCode::kMalformed,
                 "not a stream of frames: a frame lacks the identifier HWTR"};
  }
  if (available < size) return Frame{};

  frame_.assign(start, start + size);
  begin_ += size;
  // Moving the rest to the front once a megabyte is spent keeps appending linear.
  if (begin_ > (std::size_t{1} << 20)) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  return Frame{std::span<const std::uint8_t>(frame_)};
}

}  // namespace highwater::wire

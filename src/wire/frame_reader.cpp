#include "wire/frame_reader.h"

#include <string>

#include "core/frame_header.h"

namespace highwater::wire {

void FrameReader::append(std::span<const std::uint8_t> bytes) {
  if (begin_ > 0 && begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

Result<std::optional<std::span<const std::uint8_t>>> FrameReader::next() {
  using Frame = std::optional<std::span<const std::uint8_t>>;
  const auto pending = std::span<const std::uint8_t>(buffer_).subspan(begin_);
  if (pending.size() < kFramePrefixBytes) return Frame{};
  const std::uint64_t size = claimedFrameSize(pending);
  if (!isFrameSize(size)) {
    return Error{ErrorCode::kMalformed, "not a stream of frames: a frame claims " +
                                            std::to_string(size) + " bytes, allowed are " +
                                            std::to_string(kMinFrameBytes) + " to " +
                                            std::to_string(kMaxFrameBytes)};
  }
  if (pending.size() >= kMinFrameBytes && !hasFrameIdentifier(pending)) {
    return Error{ErrorCode::kMalformed, "not a stream of frames: a frame lacks the identifier " +
                                            std::string(kFrameIdentifier)};
  }
  if (pending.size() < size) return Frame{};

  frame_.assign(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(size));
  begin_ += static_cast<std::size_t>(size);
  // Moving the rest to the front only once a megabyte was read keeps the total cost linear.
  if (begin_ > (std::size_t{1} << 20)) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  return Frame{std::span<const std::uint8_t>(frame_)};
}

}  // namespace highwater::wire

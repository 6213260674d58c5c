#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/messages.h"
#include "core/result.h"

/// Messages to frames and back. Decoding verifies a frame's bounds and form; whether it makes sense
/// is the Validator's question.
namespace highwater::wire {

/// One whole frame, prefix included. The storage is aligned for the structs inside.
using FrameBytes = std::vector<std::uint8_t>;

/// Encodes one message. An EventBatch larger than kMaxFrameBytes is the caller's mistake (see
/// splitBatch); texts are cut to kMaxTextBytes.
[[nodiscard]] FrameBytes encode(const Message& message);

/// Decodes one whole frame. The spans of an EventBatch point into `frame`, which must be aligned to
/// 8 bytes (as the storage of a vector or of FrameReader is) and outlive them. kMalformed, with the
/// reason, where the bytes are not a well-formed frame.
[[nodiscard]] Result<Message> decode(std::span<const std::uint8_t> frame);

}  // namespace highwater::wire

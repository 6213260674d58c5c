#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/messages.h"
#include "core/result.h"

/// Messages to frames and back. Decoding checks the bounds and the form of a frame; the Validator
/// checks what it says.
namespace highwater::wire {

/// The bytes of one frame (an encoded message), with the prefix that holds its size. A vector's
/// storage is aligned as the structs in a frame need it.
using FrameBytes = std::vector<std::uint8_t>;

/// Encodes one message as a frame. Cuts each text to kMaxTextBytes. Cannot fail. Precondition: the
/// frame fits into kMaxFrameBytes; its reader refuses a larger one.
[[nodiscard]] FrameBytes encode(const Message& message);

/// Decodes one whole frame. Fails with kMalformed if the frame is not well-formed. The spans of a
/// decoded EventBatch point into `frame`, which must outlive them and be aligned to 8 bytes, as
/// FrameBytes and the frames of FrameReader are.
[[nodiscard]] Result<Message> decode(std::span<const std::uint8_t> frame);

}  // namespace highwater::wire

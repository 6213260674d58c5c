#pragma once

#include <cstdint>
#include <span>

#include "core/messages.h"

namespace highwater {

/// Takes a validated stream, one message at a time. `frame` is the whole frame that `message` was
/// decoded from; both are valid during the call only.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual void take(std::span<const std::uint8_t> frame, const Message& message) = 0;
};

}  // namespace highwater

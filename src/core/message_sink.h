#pragma once

#include <cstdint>
#include <span>

#include "core/messages.h"

namespace highwater {

/// Interface for a receiver of a run's messages, live or from a recording. The messages are valid
/// and come one at a time, in order.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  /// Receives the next message. `frame` is the whole encoded frame that `message` was decoded from.
  /// Both are valid only during the call.
  virtual void take(std::span<const std::uint8_t> frame, const Message& message) = 0;
};

}  // namespace highwater

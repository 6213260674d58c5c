#pragma once

#include <cstdint>

namespace highwater::probe {

/// Timing events in the device's queue, as PyTorch's MPS hooks offer them. Only one thread at a
/// time may use a source. Each method may throw std::exception.
class EventSource {
 public:
  /// The number of an event, valid from acquire() to release().
  using Id = std::uint32_t;

  virtual ~EventSource() = default;
  /// Takes an event with timing from the pool and returns its id.
  [[nodiscard]] virtual Id acquire() = 0;
  /// Gives the event back to the pool.
  virtual void release(Id event) = 0;
  /// Puts the event at the end of the device's queue; does not wait.
  virtual void record(Id event) = 0;
  /// True once the device has passed the recorded event; does not wait.
  [[nodiscard]] virtual bool passed(Id event) = 0;
  /// Returns the device time between two recorded events, in milliseconds. Waits for the whole
  /// queue. Call it at most once after `end` was recorded: on MPS a second call never returns.
  [[nodiscard]] virtual double elapsedMs(Id start, Id end) = 0;
};

}  // namespace highwater::probe

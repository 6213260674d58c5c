#pragma once

#include <cstdint>

namespace highwater::probe {

/// Events of the device's queue, as PyTorch's MPS hooks have them. One thread at a time; each
/// method may throw std::exception.
class EventSource {
 public:
  using Id = std::uint32_t;

  virtual ~EventSource() = default;
  /// A fresh event that keeps its time.
  [[nodiscard]] virtual Id acquire() = 0;
  virtual void release(Id event) = 0;
  /// Appends a recording to the queue; does not wait.
  virtual void record(Id event) = 0;
  /// True once the queue has passed the recording; does not wait.
  [[nodiscard]] virtual bool passed(Id event) = 0;
  /// Waits for all that is in the queue. At most once for a recording of `end`: on MPS a second
  /// call waits for a notice that will not come.
  [[nodiscard]] virtual double elapsedMs(Id start, Id end) = 0;
};

}  // namespace highwater::probe

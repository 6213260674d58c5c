#pragma once

#include <algorithm>
#include <chrono>

namespace highwater::worker {

/// Says when a checkpoint is due: at once, then after an interval, or after a longer one where
/// checkpoints would take more than a fiftieth of the time.
class CheckpointClock {
 public:
  using Clock = std::chrono::steady_clock;

  explicit CheckpointClock(double seconds)
      : interval_(
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  [[nodiscard]] bool isDue(Clock::time_point now) const { return now >= next_; }
  /// Notes that a checkpoint was written from `begin` to `end`.
  void wrote(Clock::time_point begin, Clock::time_point end) {
    next_ = end + std::max(interval_, kTimesTheCost * (end - begin));
  }

 private:
  static constexpr int kTimesTheCost = 49;

  Clock::duration interval_;
  Clock::time_point next_ = Clock::time_point::min();
};

}  // namespace highwater::worker

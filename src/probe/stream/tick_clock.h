#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "core/clock.h"
#include "probe/stream/tick_source.h"

namespace highwater::probe {

/// A monotonic clock in nanoseconds, at a third of the cost of monotonicNs(). Reading the system's
/// clock took a third of the time of an op's callback, which reads it once or twice
/// (tests/bench/run observer).
///
/// Converts the processor's ticks to nanoseconds along a line that adjust() fits to the system's
/// clock, which keeps the error within a microsecond. Falls back to the system's clock where the
/// ticks are not steady, and until adjust() was called twice at least kFirstBaseNs apart.
///
/// Any thread. now() neither locks nor allocates.
class TickClock {
 public:
  /// Makes a clock that uses the processor's ticks; with `ticksUsable` false, now() always reads
  /// the system's clock.
  explicit TickClock(bool ticksUsable = ticksAreSteady()) : usable_(ticksUsable) {}
  /// The clock that all recorders of this process share.
  [[nodiscard]] static TickClock& ofProcess();
  TickClock(const TickClock&) = delete;
  TickClock& operator=(const TickClock&) = delete;

  /// The current time in nanoseconds, on the time axis of monotonicNs().
  [[nodiscard]] std::int64_t now() const noexcept {
    const Line* line = line_.load(std::memory_order_acquire);
    return line ? line->at(readTicks()) : monotonicNs();
  }

  /// Compares with the system's clock and corrects the difference. A small one is corrected
  /// gradually by a change of pace, so that time stays continuous. Where this clock is more than
  /// kJumpNs behind, because the ticks stood still while the machine slept, it jumps forward. It
  /// never jumps back: an op must not end before it begins. Does nothing if the last correction is
  /// less than kAdjustEveryNs ago; call it several times a second.
  void adjust();

  /// Returns true once now() converts ticks instead of reading the system's clock.
  [[nodiscard]] bool usesTicks() const { return line_.load(std::memory_order_acquire) != nullptr; }

  /// The shortest time between the first two readings that fit a line, in nanoseconds.
  static constexpr std::int64_t kFirstBaseNs = 10'000'000;
  /// The shortest time between two corrections, in nanoseconds.
  static constexpr std::int64_t kAdjustEveryNs = 500'000'000;
  /// The largest difference from the system's clock that is corrected gradually, in nanoseconds.
  static constexpr std::int64_t kJumpNs = 20'000'000;

  /// A linear conversion from ticks to nanoseconds: ns = baseNs + (ticks - fromTicks) * slope /
  /// 2^32. Whole numbers: a double would lose nanoseconds.
  struct Line {
    std::uint64_t fromTicks = 0;
    std::int64_t baseNs = 0;
    std::int64_t slope = 0;

    /// Converts ticks to nanoseconds.
    [[nodiscard]] std::int64_t at(std::uint64_t ticks) const noexcept {
      const auto past = static_cast<std::int64_t>(ticks - fromTicks);
      return baseNs + static_cast<std::int64_t>((static_cast<__int128>(past) * slope) >> 32);
    }
  };
  /// The processor's ticks and the system's clock (monotonicNs()) at one moment.
  struct Pair {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
  };

  /// Returns the line to use after `old`, which ends at the present moment. `pair` is the latest
  /// reading of the ticks and the system's clock; `slope` is their measured pace, in nanoseconds
  /// for 2^32 ticks.
  [[nodiscard]] static Line corrected(const Line& old, const Pair& pair, double slope);

 private:
  [[nodiscard]] static Pair readPair();
  void lay(const Line& line);

  // A reader may still use a replaced line. No reader is so slow that all lines were reused.
  static constexpr std::size_t kLines = 64;

  bool usable_;
  std::mutex mutex_;  // held by adjust()
  Pair last_;
  std::array<Line, kLines> lines_{};
  std::size_t next_ = 0;
  std::atomic<const Line*> line_{nullptr};
};

}  // namespace highwater::probe

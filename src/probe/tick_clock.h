#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "core/clock.h"
#include "probe/tick_source.h"

namespace highwater::probe {

/// monotonicNs(), read in a third of the time: an op's callback looks at the clock once or twice,
/// and the system's own reading was a third of all that the callback did (tests/bench/run
/// observer).
///
/// The processor's ticks are turned into nanoseconds along a line that adjust() lays anew from time
/// to time, so that it follows the system's clock within a microsecond. Where the ticks cannot be
/// trusted, and until adjust() was called twice at least kFirstBaseNs apart, it is that clock
/// itself.
///
/// now() neither locks nor allocates; any thread.
class TickClock {
 public:
  /// `ticksUsable`: false leaves it the system's clock.
  explicit TickClock(bool ticksUsable = ticksAreSteady()) : usable_(ticksUsable) {}
  /// The one that recorders read.
  [[nodiscard]] static TickClock& ofProcess();
  TickClock(const TickClock&) = delete;
  TickClock& operator=(const TickClock&) = delete;

  [[nodiscard]] std::int64_t now() const noexcept {
    const Line* line = line_.load(std::memory_order_acquire);
    return line ? line->at(readTicks()) : monotonicNs();
  }

  /// Compares with the system's clock and corrects: a small difference by a little more or less
  /// speed, so that time stays continuous; where it is far behind (the machine slept, and the ticks
  /// with it) at once. Never at once where it is ahead, since time must not go back: an op's end
  /// would come before its begin. Some times a second, any thread; it does nothing where the last
  /// time was less than kAdjustEveryNs ago.
  void adjust();

  [[nodiscard]] bool usesTicks() const { return line_.load(std::memory_order_acquire) != nullptr; }

  static constexpr std::int64_t kFirstBaseNs = 10'000'000;
  static constexpr std::int64_t kAdjustEveryNs = 500'000'000;
  static constexpr std::int64_t kJumpNs = 20'000'000;

  /// ns = base + (ticks - from) * slope / 2^32. Whole numbers: a double would lose nanoseconds.
  struct Line {
    std::uint64_t fromTicks = 0;
    std::int64_t baseNs = 0;
    std::int64_t slope = 0;

    [[nodiscard]] std::int64_t at(std::uint64_t ticks) const noexcept {
      const auto past = static_cast<std::int64_t>(ticks - fromTicks);
      return baseNs + static_cast<std::int64_t>((static_cast<__int128>(past) * slope) >> 32);
    }
  };
  /// Both clocks at one moment.
  struct Pair {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
  };

  /// The line after `old`, given where the system's clock is; `slope` as both clocks say.
  [[nodiscard]] static Line corrected(const Line& old, const Pair& pair, double slope);

 private:
  [[nodiscard]] static Pair readPair();
  void lay(const Line& line);

  // A reader may still follow a line that was replaced; none is so slow that all were.
  static constexpr std::size_t kLines = 64;

  bool usable_;
  std::mutex mutex_;  // adjust()'s own
  Pair last_;
  std::array<Line, kLines> lines_{};
  std::size_t next_ = 0;
  std::atomic<const Line*> line_{nullptr};
};

}  // namespace highwater::probe

#include "probe/stream/tick_clock.h"

#include <algorithm>
#include <utility>

namespace highwater::probe {
namespace {

constexpr double kOne = 4294967296.0;  // a slope of 1 ns per tick
// The largest change of pace to catch up with the system's clock.
constexpr double kMaxCorrection = 1e-3;

}  // namespace

TickClock& TickClock::ofProcess() {
  static TickClock clock;
  return clock;
}

TickClock::Pair TickClock::readPair() {
  // The tightest of five tries: the thread may be preempted between the readings.
  Pair best;
  std::uint64_t tightest = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = readTicks();
    const std::int64_t ns = monotonicNs();
    const std::uint64_t width = readTicks() - before;
    if (width >= tightest) continue;
    tightest = width;
    best = {before + width / 2, ns};
  }
  return best;
}

void TickClock::lay(const Line& line) {
  lines_[next_] = line;
  line_.store(&lines_[next_], std::memory_order_release);
  next_ = (next_ + 1) % kLines;
}

void TickClock::adjust() {
  if (!usable_) return;
  const std::lock_guard lock(mutex_);
  const Line* old = line_.load(std::memory_order_relaxed);
  const std::int64_t since = monotonicNs() - last_.ns;
  if (last_.ns != 0 && since < (old ? kAdjustEveryNs : kFirstBaseNs)) return;
  const Pair pair = readPair();
  const Pair before = std::exchange(last_, pair);
  if (before.ns == 0 || pair.ticks <= before.ticks) return;
  const double pace =
      static_cast<double>(pair.ns - before.ns) / static_cast<double>(pair.ticks - before.ticks);
  lay(old ? corrected(*old, pair, pace * kOne)
          : Line{pair.ticks, pair.ns, static_cast<std::int64_t>(pace * kOne)});
}

TickClock::Line TickClock::corrected(const Line& old, const Pair& pair, double slope) {
  const std::int64_t behind = pair.ns - old.at(pair.ticks);
  if (behind > kJumpNs) return {pair.ticks, pair.ns, old.slope};
  // The ticks went on while the system's clock stood still, so the measured pace is wrong. This
  // clock stays ahead, because time must not go back.
  if (behind < -kJumpNs) slope = static_cast<double>(old.slope);
  const double correction =
      std::clamp(static_cast<double>(behind) / kAdjustEveryNs, -kMaxCorrection, kMaxCorrection);
  // The new line starts at the current ticks, not at the pair's: this thread may have been
  // preempted since, and times that others have read meanwhile must not be repeated.
  const std::uint64_t from = readTicks();
  return {from, old.at(from), static_cast<std::int64_t>(slope * (1 + correction))};
}

}  // namespace highwater::probe

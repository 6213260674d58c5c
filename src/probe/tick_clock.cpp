#include "probe/tick_clock.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace highwater::probe {
namespace {

constexpr double kOne = 4294967296.0;  // of a slope
// How much faster or slower than the system's clock it may go to meet it again.
constexpr double kMaxCorrection = 1e-3;

}  // namespace

TickClock& TickClock::ofProcess() {
  static TickClock clock;
  return clock;
}

TickClock::Pair TickClock::readPair() {
  // The tightest of some tries: between the readings the thread may lose its core.
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
  const std::int64_t shown = old ? old->at(pair.ticks) : pair.ns;
  const std::int64_t behind = pair.ns - shown;
  if (old && std::abs(behind) > kJumpNs) {
    // The ticks stood still or jumped meanwhile: what they say of the pace is wrong.
    lay({pair.ticks, pair.ns, old->slope});
    return;
  }
  const double correction =
      std::clamp(static_cast<double>(behind) / kAdjustEveryNs, -kMaxCorrection, kMaxCorrection);
  lay({pair.ticks, shown, static_cast<std::int64_t>(pace * (1 + correction) * kOne)});
}

}  // namespace highwater::probe

#include <chrono>

#include "probe/stream/tick_clock.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

/// Adjusts until the clock uses ticks; false if it never does.
bool untilTicks(TickClock& clock) {
  for (int i = 0; i < 200 && !clock.usesTicks(); ++i) {
    clock.adjust();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return clock.usesTicks();
}

/// Distance of now() from the system's clock: the smallest of many tries, since the thread may be
/// preempted between the two readings.
std::int64_t leastDifference(const TickClock& clock) {
  std::int64_t least = INT64_MAX;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t before = monotonicNs();
    const std::int64_t now = clock.now();
    const std::int64_t after = monotonicNs();
    least = std::min(least, std::max({before - now, now - after, std::int64_t{0}}));
  }
  return least;
}

void raise(std::atomic<std::int64_t>& to, std::int64_t value) {
  std::int64_t seen = to.load();
  while (seen < value && !to.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

class TestTickClock : public QObject {
  Q_OBJECT
 private slots:
  void isTheSystemsClockWithoutTicks() {
    TickClock clock(false);
    for (int i = 0; i < 3; ++i) {
      clock.adjust();
      std::this_thread::sleep_for(std::chrono::nanoseconds(TickClock::kFirstBaseNs));
    }
    QVERIFY(!clock.usesTicks());
    QCOMPARE(leastDifference(clock), std::int64_t{0});
  }

  void followsTheSystemsClock() {
    TickClock clock;
    QCOMPARE(leastDifference(clock), std::int64_t{0});
    if (!untilTicks(clock)) QSKIP("the ticks of this machine's processor are not steady");
    // The first pace is measured over kFirstBaseNs and used for kAdjustEveryNs. With 10 us of error
    // in each of the two readings that is 1 ms; later paces are measured over longer times.
    constexpr std::int64_t kReadingErrorNs = 10'000;
    constexpr std::int64_t kMostNs =
        2 * kReadingErrorNs * (TickClock::kAdjustEveryNs / TickClock::kFirstBaseNs);
    std::int64_t worst = 0;
    const auto isClose = [&] {
      clock.adjust();
      const std::int64_t difference = leastDifference(clock);
      worst = std::max(worst, difference);
      return difference < 5'000;
    };
    const std::int64_t until = monotonicNs() + 3 * TickClock::kAdjustEveryNs;
    while (monotonicNs() < until) {
      (void)isClose();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    QTRY_VERIFY(isClose());
    QVERIFY2(worst < kMostNs, qPrintable(QString::number(worst)));
  }

  void neverJumpsBack() {
    constexpr std::int64_t kNsATick = std::int64_t{1} << 32;
    const TickClock::Line old{readTicks(), 5'000'000'000, kNsATick};
    const TickClock::Pair pair{readTicks(), 0};
    const auto after = [&](std::int64_t systemNs, double slope) {
      return TickClock::corrected(old, {pair.ticks, systemNs}, slope);
    };
    // The system's clock is 4 s behind, as after a sleep during which the ticks went on.
    const TickClock::Line ahead = after(1'000'000'000, 1.0);
    QVERIFY(ahead.at(readTicks()) >= old.at(pair.ticks));
    QVERIFY(ahead.slope < kNsATick && ahead.slope > kNsATick / 100 * 99);
    // 4 s ahead, as after a sleep during which they stood still.
    QCOMPARE(after(9'000'000'000, 1.0).at(pair.ticks), std::int64_t{9'000'000'000});
    QCOMPARE(after(9'000'000'000, 1.0).slope, kNsATick);
    // A little behind: continuous, and a little slower.
    const TickClock::Line slower = after(old.at(pair.ticks) - 1000, kNsATick);
    QCOMPARE(slower.at(slower.fromTicks), old.at(slower.fromTicks));
    QVERIFY(slower.slope < kNsATick);
  }

  void isMonotonicAcrossThreads() {
    TickClock clock;
    if (!untilTicks(clock)) QSKIP("the ticks of this machine's processor are not steady");
    // A time that one thread has published is never ahead of a time that another reads later,
    // except for a thread that was preempted while it adjusted, or after it had read the line: for
    // as long as that took, two lines diverge by twice the correction that tick_clock.cpp allows.
    constexpr double kMostDivergence = 2e-3;
    std::atomic<std::int64_t> handed{0};
    std::atomic<std::int64_t> furthest{0};  // back
    std::atomic<std::int64_t> longestReadNs{0};
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {  // one publishes what the other compares with
      threads.emplace_back([&] {
        while (!done) {
          const std::int64_t before = handed.load();
          orderTicks();
          const std::int64_t beganNs = monotonicNs();
          const std::int64_t now = clock.now();
          raise(longestReadNs, monotonicNs() - beganNs);
          raise(furthest, before - now);
          raise(handed, now);
        }
      });
    }
    const std::int64_t until = monotonicNs() + 3 * TickClock::kAdjustEveryNs;
    std::int64_t longestAdjustNs = 0;
    while (monotonicNs() < until) {
      const std::int64_t beganNs = monotonicNs();
      clock.adjust();
      longestAdjustNs = std::max(longestAdjustNs, monotonicNs() - beganNs);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
    const double preemptedNs = static_cast<double>(longestAdjustNs + longestReadNs);
    QVERIFY2(static_cast<double>(furthest) < 2'000 + kMostDivergence * preemptedNs,
             qPrintable(QString::number(furthest)));
  }
};

HIGHWATER_TEST(TestTickClock, QCoreApplication)
#include "tst_tick_clock.moc"

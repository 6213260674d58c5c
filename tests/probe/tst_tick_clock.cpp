#include <QTest>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "probe/tick_clock.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

/// Adjusts until the clock goes by ticks; false where it never does.
bool untilTicks(TickClock& clock) {
  for (int i = 0; i < 200 && !clock.usesTicks(); ++i) {
    clock.adjust();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return clock.usesTicks();
}

/// How far now() is from the system's clock: the least of many tries, since between the two looks
/// the thread may lose its core.
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
  void isTheSystemsClockWithoutTicks();
  void staysWithTheSystemsClock();
  void neverJumpsBack();
  void goesForwardOnAllThreads();
};

void TestTickClock::isTheSystemsClockWithoutTicks() {
  TickClock clock(false);
  for (int i = 0; i < 3; ++i) {
    clock.adjust();
    std::this_thread::sleep_for(std::chrono::nanoseconds(TickClock::kFirstBaseNs));
  }
  QVERIFY(!clock.usesTicks());
  QCOMPARE(leastDifference(clock), std::int64_t{0});
}

void TestTickClock::staysWithTheSystemsClock() {
  TickClock clock;
  QCOMPARE(leastDifference(clock), std::int64_t{0});
  if (!untilTicks(clock)) QSKIP("the ticks of this machine's processor are not steady");
  // Over more than two corrections: the first pace was measured over some ms only.
  const std::int64_t until = monotonicNs() + 3 * TickClock::kAdjustEveryNs;
  std::int64_t worst = 0;
  while (monotonicNs() < until) {
    clock.adjust();
    worst = std::max(worst, leastDifference(clock));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  QVERIFY2(worst < 100'000, qPrintable(QString::number(worst)));
  QVERIFY2(leastDifference(clock) < 5'000, qPrintable(QString::number(leastDifference(clock))));
}

void TestTickClock::neverJumpsBack() {
  constexpr std::int64_t kNsATick = std::int64_t{1} << 32;
  const TickClock::Line old{readTicks(), 5'000'000'000, kNsATick};
  const TickClock::Pair pair{readTicks(), 0};
  const auto after = [&](std::int64_t systemNs, double slope) {
    return TickClock::corrected(old, {pair.ticks, systemNs}, slope);
  };
  // The system's clock is 4 s behind, as after a sleep in which the ticks went on.
  const TickClock::Line ahead = after(1'000'000'000, 1.0);
  QVERIFY(ahead.at(readTicks()) >= old.at(pair.ticks));
  QVERIFY(ahead.slope < kNsATick && ahead.slope > kNsATick / 100 * 99);
  // And 4 s ahead, as after one in which they stood still.
  QCOMPARE(after(9'000'000'000, 1.0).at(pair.ticks), std::int64_t{9'000'000'000});
  QCOMPARE(after(9'000'000'000, 1.0).slope, kNsATick);
  // A little behind: continuous, and a little slower.
  const TickClock::Line slower = after(old.at(pair.ticks) - 1000, kNsATick);
  QCOMPARE(slower.at(slower.fromTicks), old.at(slower.fromTicks));
  QVERIFY(slower.slope < kNsATick);
}

void TestTickClock::goesForwardOnAllThreads() {
  TickClock clock;
  if (!untilTicks(clock)) QSKIP("the ticks of this machine's processor are not steady");
  // What one thread saw and handed on, no other sees later as the future.
  std::atomic<std::int64_t> handed{0};
  std::atomic<std::int64_t> furthest{0};  // back
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        const std::int64_t before = handed.load();
        orderTicks();
        const std::int64_t now = clock.now();
        raise(furthest, before - now);
        raise(handed, now);
      }
    });
  }
  const std::int64_t until = monotonicNs() + 3 * TickClock::kAdjustEveryNs;
  while (monotonicNs() < until) {
    clock.adjust();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  // Who adjusts, or who has a line and looks at the counter next, may lose its core in between.
  QVERIFY2(furthest < 2'000, qPrintable(QString::number(furthest)));
}

QTEST_GUILESS_MAIN(TestTickClock)
#include "tst_tick_clock.moc"

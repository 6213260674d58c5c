#include "support/test_program.h"
#include "worker/training/checkpoint_clock.h"

using highwater::worker::CheckpointClock;
using namespace std::chrono_literals;

class TestCheckpointClock : public QObject {
  Q_OBJECT

 private slots:
  void isDueAtOnceAndAfterTheInterval() {
    CheckpointClock clock(10);
    const CheckpointClock::Clock::time_point begin{1h}, end = begin + 20ms;
    QVERIFY(clock.isDue(begin));
    clock.wrote(begin, end);
    QVERIFY(!clock.isDue(end));
    QVERIFY(!clock.isDue(end + 10s - 1ns));
    QVERIFY(clock.isDue(end + 10s));
  }

  void takesAFiftiethOfTheTimeAtMost_data() {
    QTest::addColumn<double>("seconds");
    QTest::newRow("as often as possible") << 0.0;
    QTest::newRow("every second") << 1.0;
  }
  void takesAFiftiethOfTheTimeAtMost() {
    QFETCH(double, seconds);
    CheckpointClock clock(seconds);
    const CheckpointClock::Clock::time_point begin{1h};
    CheckpointClock::Clock::duration spent{0};
    CheckpointClock::Clock::time_point now = begin;
    int count = 0;
    for (; count < 200; ++count) {
      const auto cost = std::chrono::milliseconds(1 + 37 * count % 90);
      while (!clock.isDue(now)) now += 1ms;
      clock.wrote(now, now + cost);
      now += cost;
      spent += cost;
    }
    while (!clock.isDue(now)) now += 1ms;
    QVERIFY(spent * 50 <= now - begin);
    // And no less often than that allows.
    const auto needed = std::max<CheckpointClock::Clock::duration>(
        spent * 50, std::chrono::seconds(static_cast<int>(seconds)) * count);
    QVERIFY(now - begin <= needed * 2);
  }
};

HIGHWATER_TEST(TestCheckpointClock, QCoreApplication)
#include "tst_checkpoint_clock.moc"

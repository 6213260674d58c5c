#include <cstdint>

#include "probe/stream/spsc_ring.h"
#include "support/test_program.h"

using highwater::probe::SpscRing;

class TestSpscRing : public QObject {
  Q_OBJECT
 private slots:
  void holdsItsCapacityAndNoMore() {
    SpscRing<int> ring(5);
    QCOMPARE(ring.capacity(), std::size_t{8});
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 8; ++i) QVERIFY(ring.tryPush(i));
      QVERIFY(!ring.tryPush(8));
      std::vector<int> drained;
      QCOMPARE(ring.drain([&](int v) { drained.push_back(v); }), std::size_t{8});
      QCOMPARE(drained, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    }
  }

  void keepsEveryValueInOrderBetweenTwoThreads_data() {
    QTest::addColumn<int>("capacity");
    for (const int capacity : {1, 2, 16, 1024}) {
      QTest::newRow(qPrintable(QString::number(capacity))) << capacity;
    }
  }

  void keepsEveryValueInOrderBetweenTwoThreads() {
    QFETCH(int, capacity);
    // A value larger than one store, so that a torn one would be detected.
    struct Value {
      std::uint64_t number, square;
    };
    constexpr std::uint64_t kTries = 300'000;
    SpscRing<Value> ring(static_cast<std::size_t>(capacity));
    std::uint64_t refused = 0;
    std::atomic<bool> done{false};
    std::thread producer([&] {
      std::mt19937 random(3);
      for (std::uint64_t i = 1; i <= kTries; ++i) {
        if (!ring.tryPush({i, i * i})) ++refused;
        if (random() % 1024 == 0) std::this_thread::yield();
      }
      done = true;
    });
    std::uint64_t seen = 0, last = 0;
    bool sound = true;
    const auto take = [&](const Value& v) {
      sound = sound && v.number > last && v.square == v.number * v.number;
      last = v.number;
      ++seen;
    };
    while (!done) ring.drain(take);
    producer.join();
    ring.drain(take);
    QVERIFY(sound);
    QCOMPARE(seen + refused, kTries);
  }
};

HIGHWATER_TEST(TestSpscRing, QCoreApplication)
#include "tst_spsc_ring.moc"

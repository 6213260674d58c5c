// What MpsHeaps is as a value. Its rules: tests/simmps, where an allocator runs on it.
#include "core/mps_heaps.h"

#include "core/units.h"
#include "support/test_program.h"

using namespace highwater;

class TestMpsHeaps : public QObject {
  Q_OBJECT

 private slots:
  /// A copy has the same blocks and heaps, and neither feels what the other does.
  void aCopyGoesOnByItself() {
    std::mt19937_64 random(3);
    MpsHeaps heaps({.recommendedBytes = 2 * kGiB, .lowWatermarkRatio = 1, .highWatermarkRatio = 1});
    std::vector<MpsHeaps::Block> live;
    const auto change = [](MpsHeaps& which, std::vector<MpsHeaps::Block>& blocks,
                           std::uint64_t number) {
      if (number % 3 == 0 && !blocks.empty()) {
        which.free(blocks[number % blocks.size()]);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(number % blocks.size()));
      } else if (number % 97 == 0) {
        which.emptyCache();
      } else {
        const auto block = which.allocate(number % (20 * kMiB) + 1);
        if (block != MpsHeaps::kRefused) blocks.push_back(block);
      }
    };
    for (int i = 0; i < 300; ++i) change(heaps, live, random());
    const MpsHeaps::Counters before = heaps.counters();
    MpsHeaps copy = heaps;
    std::vector<MpsHeaps::Block> copied = live;
    std::vector<std::uint64_t> numbers, after;
    for (int i = 0; i < 300; ++i) {
      numbers.push_back(random());
      change(copy, copied, numbers.back());
      after.push_back(copy.counters().driverBytes);
    }
    QVERIFY(heaps.counters().driverBytes == before.driverBytes &&
            heaps.counters().currentBytes == before.currentBytes);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      change(heaps, live, numbers[i]);
      QCOMPARE(heaps.counters().driverBytes, after[i]);
    }
    QCOMPARE(heaps.counters().driverPeakBytes, copy.counters().driverPeakBytes);
  }

  void withoutALimitNothingIsRefused() {
    MpsHeaps heaps(MemoryLimits{});
    QVERIFY(heaps.allocate(900 * kGiB) != MpsHeaps::kRefused);
  }
};

HIGHWATER_TEST(TestMpsHeaps, QCoreApplication)
#include "tst_mps_heaps.moc"

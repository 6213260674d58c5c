#include <QTest>
#include <random>

#include "core/units.h"
#include "simmps/policy/heap_allocator.h"
#include "support/test_program.h"
#include "tuning/device_limits.h"
#include "tuning/heap_plan.h"

using namespace highwater;
using tuning::HeapPlan;
using tuning::HeapRules;

namespace {

/// The simulated device's allocator and the plan, given the same requests.
class Both {
 public:
  explicit Both(const MemoryLimits& limits)
      : allocator_({limits.recommendedBytes, limits.highWatermarkRatio, limits.lowWatermarkRatio}),
        plan_(limits) {}
  ~Both() {
    while (!live_.empty()) free(live_.size() - 1);
  }

  /// Whether both agree on the outcome.
  bool allocate(std::uint64_t bytes) {
    const auto outcome = allocator_.allocate(bytes);
    const HeapPlan::Block block = plan_.allocate(bytes);
    const bool granted = std::holds_alternative<simmps::DeviceBlock*>(outcome);
    if (granted != (block != HeapPlan::kRefused)) return false;
    if (granted) live_.push_back({std::get<simmps::DeviceBlock*>(outcome), block});
    return true;
  }
  void free(std::size_t which) {
    allocator_.free(live_[which].first);
    plan_.free(live_[which].second);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  void emptyCache() {
    allocator_.emptyCache();
    plan_.emptyCache();
  }
  bool agree() const {
    const simmps::MemoryCounters counters = allocator_.counters();
    return counters.currentBytes == plan_.current() && counters.driverBytes == plan_.driver() &&
           counters.currentPeakBytes == plan_.peakCurrent() &&
           counters.driverPeakBytes == plan_.peakDriver();
  }
  std::size_t liveBlocks() const { return live_.size(); }

 private:
  simmps::HeapAllocator allocator_;
  HeapPlan plan_;
  std::vector<std::pair<simmps::DeviceBlock*, HeapPlan::Block>> live_;
};

}  // namespace

class TestHeapPlan : public QObject {
  Q_OBJECT

 private slots:
  void opensHeapsBySize() {
    HeapPlan plan({.recommendedBytes = 16 * kGiB, .highWatermarkRatio = 1.7});
    const auto opens = [&plan](std::uint64_t request) {
      const std::uint64_t before = plan.driver();
      plan.allocate(request);
      return plan.driver() - before;
    };
    QCOMPARE(opens(100), 8 * kMiB);
    QCOMPARE(opens(kMiB), 0u);
    QCOMPARE(opens(kMiB + 1), 32 * kMiB);
    QCOMPARE(opens(600 * kMiB + 1), 602 * kMiB);
    QCOMPARE(opens(31 * kMiB), kGiB);
    QCOMPARE(opens(10 * kMiB), 0u);
  }

  /// A copy has the same blocks and heaps, and neither feels what the other does.
  void aCopyGoesOnByItself() {
    std::mt19937_64 random(3);
    HeapPlan plan({.recommendedBytes = 2 * kGiB, .lowWatermarkRatio = 1, .highWatermarkRatio = 1});
    std::vector<HeapPlan::Block> live;
    const auto change = [](HeapPlan& which, std::vector<HeapPlan::Block>& blocks,
                           std::uint64_t number) {
      if (number % 3 == 0 && !blocks.empty()) {
        which.free(blocks[number % blocks.size()]);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(number % blocks.size()));
      } else if (number % 97 == 0) {
        which.emptyCache();
      } else {
        const auto block = which.allocate(number % (20 * kMiB) + 1);
        if (block != HeapPlan::kRefused) blocks.push_back(block);
      }
    };
    for (int i = 0; i < 300; ++i) change(plan, live, random());
    const std::uint64_t driver = plan.driver(), current = plan.current();
    HeapPlan copy = plan;
    std::vector<HeapPlan::Block> copied = live;
    std::vector<std::uint64_t> numbers, after;
    for (int i = 0; i < 300; ++i) {
      numbers.push_back(random());
      change(copy, copied, numbers.back());
      after.push_back(copy.driver());
    }
    QVERIFY(plan.driver() == driver && plan.current() == current);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      change(plan, live, numbers[i]);
      QCOMPARE(plan.driver(), after[i]);
    }
    QCOMPARE(plan.peakDriver(), copy.peakDriver());
  }

  void refusesAboveTheHighWatermark() {
    HeapPlan plan({.recommendedBytes = 100 * kMiB, .highWatermarkRatio = 1.5});
    const auto block = plan.allocate(90 * kMiB);
    QVERIFY(block != HeapPlan::kRefused);
    QCOMPARE(plan.driver(), 90 * kMiB);  // a heap of 1 GiB would not fit
    QCOMPARE(plan.allocate(70 * kMiB), HeapPlan::kRefused);
    plan.free(block);
    QVERIFY(plan.allocate(140 * kMiB) != HeapPlan::kRefused);
  }

  void withoutALimitNothingIsRefused() {
    HeapPlan plan({});
    QVERIFY(plan.allocate(900 * kGiB) != HeapPlan::kRefused);
  }

  /// The rules are PyTorch's, as the simulated device has them: any sequence of requests gives the
  /// same numbers.
  void agreesWithTheSimulatedAllocator_data() {
    QTest::addColumn<quint64>("recommended");
    QTest::newRow("large machine") << quint64{64 * kGiB};
    QTest::newRow("8 GiB") << quint64{8 * kGiB};
    QTest::newRow("512 MiB: no heap of 1 GiB") << quint64{512 * kMiB};
  }
  void agreesWithTheSimulatedAllocator() {
    QFETCH(quint64, recommended);
    const MemoryLimits limits = test::limitsOf(recommended);
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
      std::mt19937_64 random(seed);
      Both both(limits);
      for (int i = 0; i < 1000; ++i) {
        const auto choice = random() % 100;
        if (choice < 55 && both.liveBlocks() < 60) {
          // Of all sizes up to what keeps the total below the low watermark.
          const std::uint64_t most = std::min<std::uint64_t>(recommended / 200, 700 * kMiB);
          const std::uint64_t bytes = 1 + (random() % most >> random() % 20);
          QVERIFY(both.allocate(bytes));
        } else if (choice < 99 && both.liveBlocks() > 0) {
          both.free(random() % both.liveBlocks());
        } else {
          both.emptyCache();
        }
        QVERIFY2(both.agree(), qPrintable(QString("seed %1, request %2").arg(seed).arg(i)));
      }
    }
  }
};

HIGHWATER_TEST(TestHeapPlan, QCoreApplication)
#include "tst_heap_plan.moc"

#include "simmps/heap_allocator.h"

#include <QtTest>
#include <map>
#include <random>
#include <vector>

using namespace highwater::simmps;

namespace {

DeviceBlock* blockOf(const HeapAllocator::Outcome& outcome) {
  const auto* block = std::get_if<DeviceBlock*>(&outcome);
  return block ? *block : nullptr;
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

class HeapAllocatorTest : public QObject {
  Q_OBJECT

 private slots:
  void heapTiers_data() {
    QTest::addColumn<quint64>("bytes");
    QTest::addColumn<quint64>("heap");
    QTest::newRow("one byte") << quint64(1) << quint64(kSmallHeap);
    QTest::newRow("1 MiB") << quint64(kMiB) << quint64(kSmallHeap);
    QTest::newRow("over 1 MiB") << quint64(kMiB + 1) << quint64(kLargeHeap);
    QTest::newRow("just under 10 MiB") << quint64(10 * kMiB - kAlignment) << quint64(kLargeHeap);
    QTest::newRow("10 MiB") << quint64(10 * kMiB) << quint64(kXLargeHeap);
    QTest::newRow("512 MiB") << quint64(512 * kMiB) << quint64(512 * kMiB);
    QTest::newRow("513 MiB + 1") << quint64(513 * kMiB + 1) << quint64(514 * kMiB);
  }
  void heapTiers() {
    QFETCH(quint64, bytes);
    QFETCH(quint64, heap);
    HeapAllocator memory({8 * kGiB});
    DeviceBlock* block = blockOf(memory.allocate(bytes));
    QVERIFY(block);
    QCOMPARE(memory.counters().driverBytes, heap);
    QCOMPARE(memory.counters().currentBytes, aligned(bytes));
    QCOMPARE(block->bytes(), aligned(bytes));
    memory.free(block);
    QCOMPARE(memory.counters().currentBytes, 0u);
    QCOMPARE(memory.counters().driverBytes, heap);
    memory.emptyCache();
    QCOMPARE(memory.counters().driverBytes, 0u);
    QCOMPARE(memory.counters().driverPeakBytes, heap);
  }

  void reusesTheBestFit() {
    HeapAllocator memory({8 * kGiB});
    std::vector<DeviceBlock*> blocks;
    for (const std::uint64_t mib : {9, 3, 6}) {
      blocks.push_back(blockOf(memory.allocate(mib * kMiB)));
    }
    const std::byte* sixMiB = blocks[2]->data();
    for (DeviceBlock* block : blocks) memory.free(block);
    DeviceBlock* reused = blockOf(memory.allocate(5 * kMiB));
    QCOMPARE(reused->data(), sixMiB);
    // The whole block counts: it was not split.
    QCOMPARE(memory.counters().currentBytes, 6 * kMiB);
    memory.free(reused);
  }

  void doesNotReuseWithMuchSlack() {
    HeapAllocator memory({8 * kGiB});
    DeviceBlock* large = blockOf(memory.allocate(600 * kMiB));
    memory.free(large);
    DeviceBlock* fits = blockOf(memory.allocate(568 * kMiB));  // 32 MiB of slack
    QCOMPARE(fits->bytes(), 600 * kMiB);
    memory.free(fits);
    DeviceBlock* own = blockOf(memory.allocate(567 * kMiB));
    QCOMPARE(own->bytes(), 567 * kMiB);
    QCOMPARE(memory.counters().driverBytes, 600 * kMiB + 568 * kMiB);
    memory.free(own);
  }

  void refusesOverTheHighWatermark() {
    HeapAllocator memory({100 * kMiB, 1.0, 1.0});
    DeviceBlock* kept = blockOf(memory.allocate(60 * kMiB));
    QVERIFY(kept);
    const auto refused = memory.allocate(50 * kMiB - 1);
    const auto* reason = std::get_if<OutOfMemory>(&refused);
    QVERIFY(reason);
    QCOMPARE(reason->currentBytes, 60 * kMiB);
    QCOMPARE(reason->otherBytes, 0u);
    QCOMPARE(reason->maxAllowedBytes, 100 * kMiB);
    QCOMPARE(reason->requestedBytes, 50 * kMiB);
    QCOMPARE(memory.counters().outOfMemories, 1u);
    memory.setHighWatermarkRatio(0);
    DeviceBlock* unlimited = blockOf(memory.allocate(50 * kMiB));
    QVERIFY(unlimited);
    memory.free(unlimited);
    memory.free(kept);
  }

  void releasesCachedBlocksBeforeGivingUp() {
    int waits = 0;
    HeapAllocator memory({100 * kMiB, 1.0, 0.0}, [&] { ++waits; });
    std::vector<DeviceBlock*> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(blockOf(memory.allocate(20 * kMiB)));
    for (DeviceBlock* block : blocks) memory.free(block);
    QCOMPARE(memory.counters().driverBytes, 80 * kMiB);
    QCOMPARE(waits, 0);
    DeviceBlock* large = blockOf(memory.allocate(90 * kMiB));
    QVERIFY(large);
    QVERIFY(waits > 0);  // jobs may still have used what was released
    QCOMPARE(memory.counters().driverBytes, 90 * kMiB);
    QVERIFY(memory.counters().retries > 0);
    memory.free(large);
  }

  void collectsOldBlocksUnderPressure() {
    HeapAllocator memory({100 * kMiB, 2.0, 0.5});
    DeviceBlock* old = blockOf(memory.allocate(60 * kMiB));
    DeviceBlock* kept = blockOf(memory.allocate(20 * kMiB));
    memory.free(old);
    QCOMPARE(memory.counters().driverBytes, 80 * kMiB);
    // Fits no cached block well enough, and the cache is what keeps the pressure up.
    DeviceBlock* next = blockOf(memory.allocate(12 * kMiB));
    QVERIFY(next);
    QCOMPARE(memory.counters().driverBytes, 32 * kMiB);
    memory.free(next);
    memory.free(kept);
  }

  void peaksRestart() {
    HeapAllocator memory({8 * kGiB});
    memory.free(blockOf(memory.allocate(3 * kMiB)));
    DeviceBlock* kept = blockOf(memory.allocate(kMiB));
    QCOMPARE(memory.counters().currentPeakBytes, 3 * kMiB);
    memory.resetPeaks();
    QCOMPARE(memory.counters().currentPeakBytes, kMiB);
    QCOMPARE(memory.counters().driverPeakBytes, memory.counters().driverBytes);
    memory.free(kept);
  }

  void largeHeapsAreNotTouched() {
    HeapAllocator memory({2000 * kGiB});
    DeviceBlock* block = blockOf(memory.allocate(64 * kGiB));
    QVERIFY(block);  // address space only
    block->data()[0] = std::byte{1};
    block->data()[block->bytes() - 1] = std::byte{1};
    memory.free(block);
  }

  // Against a model that knows only which blocks are live.
  void randomTrafficKeepsTheInvariants_data() {
    QTest::addColumn<int>("seed");
    for (int seed = 1; seed <= 12; ++seed) QTest::addRow("seed %d", seed) << seed;
  }
  void randomTrafficKeepsTheInvariants() {
    QFETCH(int, seed);
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const MemoryLimits limits{256 * kMiB, seed % 3 ? 1.7 : 0.0, seed % 2 ? 1.0 : 0.0};
    const std::uint64_t allowed = seed % 3 ? static_cast<std::uint64_t>(1.7 * 256 * kMiB) : 0;
    HeapAllocator memory(limits);
    std::map<std::uintptr_t, DeviceBlock*> live;
    std::uint64_t refusals = 0, peak = 0;
    for (int step = 0; step < 3000; ++step) {
      const auto dice = random() % 100;
      if (dice < 55 || live.empty()) {
        // Sizes over all tiers, most of them small.
        const std::uint64_t bytes = 1 + random() % (std::uint64_t(1) << (4 + random() % 23));
        const auto outcome = memory.allocate(bytes);
        if (DeviceBlock* block = blockOf(outcome)) {
          const auto start = reinterpret_cast<std::uintptr_t>(block->data());
          QCOMPARE(start % kAlignment, 0u);
          QVERIFY(block->bytes() >= bytes);
          QVERIFY(block->bytes() <= aligned(bytes) + kMaxReuseSlack);
          const auto next = live.lower_bound(start);
          QVERIFY(next == live.end() || start + block->bytes() <= next->first);
          QVERIFY(next == live.begin() ||
                  std::prev(next)->first + std::prev(next)->second->bytes() <= start);
          block->data()[block->bytes() - 1] = std::byte{1};
          live.emplace(start, block);
        } else {
          ++refusals;
          QVERIFY(allowed > 0);
        }
      } else if (dice < 98) {
        auto victim = live.begin();
        std::advance(victim, static_cast<long>(random() % live.size()));
        memory.free(victim->second);
        live.erase(victim);
      } else {
        memory.emptyCache();
      }
      std::uint64_t current = 0;
      for (const auto& [start, block] : live) current += block->bytes();
      peak = std::max(peak, current);
      const MemoryCounters counters = memory.counters();
      QCOMPARE(counters.currentBytes, current);
      QCOMPARE(counters.currentPeakBytes, peak);
      QCOMPARE(counters.liveBlocks, live.size());
      QVERIFY(counters.driverBytes >= counters.currentBytes);
      QVERIFY(counters.driverPeakBytes >= counters.driverBytes);
      QVERIFY(allowed == 0 || counters.driverBytes <= allowed);
      QCOMPARE(counters.allocatedBytes - counters.freedBytes, current);
      QCOMPARE(counters.reservedBytes - counters.releasedBytes, counters.driverBytes);
      QCOMPARE(counters.outOfMemories, refusals);
    }
    for (const auto& [start, block] : live) memory.free(block);
    memory.emptyCache();
    QCOMPARE(memory.counters().driverBytes, 0u);
    QCOMPARE(memory.counters().heaps, 0u);
  }
};

QTEST_GUILESS_MAIN(HeapAllocatorTest)
#include "tst_heap_allocator.moc"

#include "simmps/policy/heap_allocator.h"

#include <unistd.h>

#include <utility>

#include "simmps/policy_device.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::simmps;
using simmps::test::blockOf;
using simmps::test::Jobs;

class HeapAllocatorTest : public QObject {
  Q_OBJECT

 private slots:
  void heapTiers_data() {
    QTest::addColumn<quint64>("bytes");
    QTest::addColumn<quint64>("heap");
    QTest::newRow("one byte") << quint64(1) << quint64(HeapRules::kSmallHeap);
    QTest::newRow("1 MiB") << quint64(kMiB) << quint64(HeapRules::kSmallHeap);
    QTest::newRow("over 1 MiB") << quint64(kMiB + 1) << quint64(HeapRules::kLargeHeap);
    QTest::newRow("just under 10 MiB")
        << quint64(10 * kMiB - HeapRules::kAlignment) << quint64(HeapRules::kLargeHeap);
    QTest::newRow("10 MiB") << quint64(10 * kMiB) << quint64(HeapRules::kExtraLargeHeap);
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
    QCOMPARE(memory.counters().currentBytes, MpsHeaps::aligned(bytes));
    QCOMPARE(block->bytes(), MpsHeaps::aligned(bytes));
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
    // The whole block counts, since it was not split.
    QCOMPARE(memory.counters().currentBytes, 6 * kMiB);
    memory.free(reused);
  }

  void doesNotReuseWithMuchSlack() {
    HeapAllocator memory({8 * kGiB});
    DeviceBlock* large = blockOf(memory.allocate(600 * kMiB));
    const std::byte* place = large->data();
    memory.free(large);
    DeviceBlock* fits = blockOf(memory.allocate(568 * kMiB));  // 32 MiB of slack
    QCOMPARE(fits->bytes(), 600 * kMiB);
    memory.free(fits);
    // No heap has room: the block is released, its heap stays and is used again.
    DeviceBlock* inItsHeap = blockOf(memory.allocate(567 * kMiB));
    QCOMPARE(inItsHeap->bytes(), 567 * kMiB);
    QCOMPARE(inItsHeap->data(), place);
    QCOMPARE(memory.counters().driverBytes, 600 * kMiB);
    memory.free(inItsHeap);
    // Now a heap has room: the block stays in the cache.
    DeviceBlock* beside = blockOf(memory.allocate(30 * kMiB));
    QCOMPARE(beside->data(), place + 567 * kMiB);
    memory.free(beside);
  }

  void busyOversizeBlockIsReusedWhole() {
    Jobs jobs;
    HeapAllocator memory({8 * kGiB}, jobs.options());
    DeviceBlock* large = blockOf(memory.allocate(600 * kMiB));
    jobs.submitted = 1;
    memory.free(large);
    DeviceBlock* whole = blockOf(memory.allocate(520 * kMiB));
    QCOMPARE(whole->bytes(), 600 * kMiB);
    QCOMPARE(jobs.waits, 0);
    memory.free(whole);
  }

  void highWatermarkRefusesTheCacheToo() {
    HeapAllocator memory({100 * kMiB, 1.0, 0.0});
    DeviceBlock* kept = blockOf(memory.allocate(50 * kMiB));
    DeviceBlock* cached = blockOf(memory.allocate(40 * kMiB));
    memory.free(cached);
    // 90 MiB plus 40 are over the limit: the cached 40 are released and allocated anew.
    DeviceBlock* again = blockOf(memory.allocate(40 * kMiB));
    QVERIFY(again);
    QCOMPARE(memory.counters().retries, 1u);
    QCOMPARE(memory.counters().driverBytes, 90 * kMiB);
    memory.free(again);
    memory.free(kept);
  }

  void refusesOverTheHighWatermark() {
    HeapAllocator memory({100 * kMiB, 1.0, 1.0});
    DeviceBlock* kept = blockOf(memory.allocate(60 * kMiB));
    QVERIFY(kept);
    const auto refused = memory.allocate(50 * kMiB - 1);
    const auto* reason = std::get_if<OutOfMemory>(&refused);
    QVERIFY(reason);
    QCOMPARE(reason->heapBytes, 60 * kMiB);
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

  void heapsMayPassTheHighWatermarkWhereOnlyRequestsAreLimited() {
    MemoryOptions options;
    options.limitsRequestsOnly = true;
    HeapAllocator memory({100 * kMiB, 1.0, 0.0}, std::move(options));
    DeviceBlock* small = blockOf(memory.allocate(1));
    QVERIFY(small);
    // Compared with 8 + 91 MiB, not with the heap of 1 GiB that it gets.
    DeviceBlock* large = blockOf(memory.allocate(91 * kMiB));
    QVERIFY(large);
    QCOMPARE(memory.counters().driverBytes, HeapRules::kSmallHeap + HeapRules::kExtraLargeHeap);
    QVERIFY(!memory.holdGraph(kMiB));
    const auto refused = memory.allocate(1);
    QVERIFY(std::get_if<OutOfMemory>(&refused));
    memory.free(large);
    memory.free(small);
  }

  void releasesCachedBlocksBeforeGivingUp() {
    Jobs jobs;
    HeapAllocator memory({100 * kMiB, 1.0, 0.0}, jobs.options());
    std::vector<DeviceBlock*> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(blockOf(memory.allocate(20 * kMiB)));
    jobs.submitted = 5;
    for (DeviceBlock* block : blocks) memory.free(block);
    QCOMPARE(memory.counters().driverBytes, 80 * kMiB);
    QCOMPARE(jobs.waits, 0);
    DeviceBlock* large = blockOf(memory.allocate(90 * kMiB));
    QVERIFY(large);
    QVERIFY(jobs.waits > 0);  // jobs may still have used the released blocks
    QCOMPARE(memory.counters().driverBytes, 90 * kMiB);
    QVERIFY(memory.counters().retries > 0);
    memory.free(large);
  }

  void givesBackNoMoreThanEnough_data() {
    QTest::addColumn<quint64>("finished");
    QTest::addColumn<int>("waits");
    QTest::newRow("idle") << quint64{5} << 0;
    QTest::newRow("busy") << quint64{0} << 1;
  }
  void givesBackNoMoreThanEnough() {
    QFETCH(quint64, finished);
    QFETCH(int, waits);
    Jobs jobs;
    HeapAllocator memory({100 * kMiB, 1.0, 0.0}, jobs.options());
    std::vector<DeviceBlock*> blocks;
    for (const std::uint64_t mib : {16, 20, 24, 28}) {
      blocks.push_back(blockOf(memory.allocate(mib * kMiB)));
    }
    jobs.submitted = 5;
    jobs.finished = finished;
    for (DeviceBlock* block : blocks) memory.free(block);
    DeviceBlock* next = blockOf(memory.allocate(40 * kMiB));
    // The largest go first, until they are as large as the request.
    QCOMPARE(memory.counters().driverBytes, 16 * kMiB + 20 * kMiB + 40 * kMiB);
    QCOMPARE(jobs.waits, waits);
    memory.free(next);
  }

  void pressureBeginsWithinOneMiB_data() {
    QTest::addColumn<quint64>("distance");
    QTest::addColumn<quint64>("heap");
    QTest::newRow("1 MiB to go") << quint64(kMiB) << quint64(HeapRules::kExtraLargeHeap);
    QTest::newRow("less") << quint64(kMiB - 1) << quint64(20 * kMiB);
  }
  void pressureBeginsWithinOneMiB() {
    QFETCH(quint64, distance);
    QFETCH(quint64, heap);
    HeapAllocator memory({514 * kMiB + distance, 0.0, 1.0});
    DeviceBlock* kept = blockOf(memory.allocate(514 * kMiB));
    DeviceBlock* next = blockOf(memory.allocate(20 * kMiB));
    QCOMPARE(memory.counters().driverBytes, 514 * kMiB + heap);
    memory.free(next);
    memory.free(kept);
  }

  void collectsOldBlocksUnderPressure() {
    HeapAllocator memory({100 * kMiB, 2.0, 0.5});
    std::vector<DeviceBlock*> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(blockOf(memory.allocate(20 * kMiB)));
    memory.free(blocks[1]);
    memory.free(blockOf(memory.allocate(40 * kMiB)));  // ages the first
    memory.free(blocks[2]);
    QCOMPARE(memory.counters().driverBytes, 100 * kMiB);
    // No cached block is large enough: the oldest goes first, then the others, to get back to 50
    // MiB.
    DeviceBlock* next = blockOf(memory.allocate(44 * kMiB));
    QVERIFY(next);
    QCOMPARE(memory.counters().retries, 0u);
    QCOMPARE(memory.counters().driverBytes, 20 * kMiB + 44 * kMiB);
    memory.free(next);
    memory.free(blocks[0]);
  }

  void collectsTheOldestFirst() {
    HeapAllocator memory({100 * kMiB, 2.0, 0.8});
    DeviceBlock* old = blockOf(memory.allocate(22 * kMiB));
    DeviceBlock* young = blockOf(memory.allocate(20 * kMiB));
    DeviceBlock* kept = blockOf(memory.allocate(24 * kMiB));
    memory.free(old);
    memory.free(blockOf(memory.allocate(30 * kMiB)));  // ages it
    memory.free(young);
    // The oldest is enough to get back to 80 MiB.
    DeviceBlock* next = blockOf(memory.allocate(40 * kMiB));
    QCOMPARE(memory.counters().driverBytes, (20 + 24 + 30 + 40) * kMiB);
    memory.free(next);
    memory.free(kept);
  }

  void collectionSparesBusyBlocks() {
    Jobs jobs;
    HeapAllocator memory({100 * kMiB, 2.0, 0.5}, jobs.options());
    DeviceBlock* first = blockOf(memory.allocate(30 * kMiB));
    DeviceBlock* second = blockOf(memory.allocate(30 * kMiB));
    memory.free(first);
    jobs.submitted = 1;
    memory.free(second);
    memory.free(blockOf(memory.allocate(31 * kMiB)));
    // Only the first was idle, and nothing waited for the other.
    QCOMPARE(memory.counters().driverBytes, 30 * kMiB + 32 * kMiB);
    QCOMPARE(jobs.waits, 0);
  }

  // As in PyTorch: a heap for several blocks that collection empties is not released, not even by
  // emptyCache(), until a block has been in it again.
  void collectionKeepsSharedHeaps() {
    HeapAllocator memory({100 * kMiB, 2.0, 0.05});
    std::vector<DeviceBlock*> blocks;
    for (int i = 0; i < 6; ++i) blocks.push_back(blockOf(memory.allocate(9 * kMiB)));
    for (DeviceBlock* block : blocks) memory.free(block);
    QCOMPARE(memory.counters().driverBytes, 2 * HeapRules::kLargeHeap);
    memory.free(blockOf(memory.allocate(40 * kMiB)));
    QCOMPARE(memory.counters().driverBytes, 2 * HeapRules::kLargeHeap + 40 * kMiB);
    memory.emptyCache();
    QCOMPARE(memory.counters().driverBytes, 2 * HeapRules::kLargeHeap);
    for (int i = 0; i < 2; ++i) blocks[i] = blockOf(memory.allocate(9 * kMiB + 15 * kMiB * i));
    for (int i = 0; i < 2; ++i) memory.free(blocks[i]);
    memory.emptyCache();
    QCOMPARE(memory.counters().driverBytes, 0u);
  }

  void jobsMayFreeWhileTheHostWaits() {
    Jobs jobs;
    MemoryOptions options = jobs.options();
    HeapAllocator* memory = nullptr;
    DeviceBlock* ofJob = nullptr;
    options.jobs.wait = [&] {
      if (ofJob) memory->free(std::exchange(ofJob, nullptr));
    };
    HeapAllocator made({100 * kMiB, 1.0, 0.0}, options);
    memory = &made;
    ofJob = blockOf(made.allocate(60 * kMiB));
    DeviceBlock* block = blockOf(made.allocate(70 * kMiB));
    QVERIFY(block);  // what the job freed was enough
    made.free(block);
  }

  void scalarsHaveAPoolOfTheirOwn() {
    HeapAllocator memory({8 * kGiB});
    DeviceBlock* small = blockOf(memory.allocate(4));
    DeviceBlock* scalar = blockOf(memory.allocateScalar(4));
    QCOMPARE(memory.counters().driverBytes, 2 * HeapRules::kSmallHeap);
    memory.free(scalar);
    memory.free(small);
    QCOMPARE(blockOf(memory.allocateScalar(8)), scalar);
    memory.free(scalar);
  }

  void peaksCanBeReset() {
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
    QCOMPARE(memory.residentBytes(), 0u);
    block->data()[0] = std::byte{1};
    block->data()[block->bytes() - 1] = std::byte{1};
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    QCOMPARE(memory.residentBytes(), 2 * page);
    memory.free(block);
    QCOMPARE(memory.residentBytes(), 2 * page);  // cached, and still resident
    memory.emptyCache();
    QCOMPARE(memory.residentBytes(), 0u);
  }
};

HIGHWATER_TEST(HeapAllocatorTest, QCoreApplication)
#include "tst_heap_allocator.moc"

#include "simmps/policy/graph_cache.h"
#include "simmps/policy/heap_allocator.h"
#include "simmps/policy_device.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::simmps;
using simmps::test::blockOf;

namespace {

class KeepingLedger final : public Ledger {
 public:
  void add(const MemoryEntry& entry) override { entries.push_back(entry); }
  void add(const KernelEntry&) override {}
  void add(const DrainEntry&) override {}
  void add(const FallbackEntry&) override {}

  std::vector<MemoryEntry> entries;
};

}  // namespace

/// The ledger and knobs of the allocator.
class AllocatorLedgerTest : public QObject {
  Q_OBJECT

 private slots:
  void ledgerHasEveryChangeInOrder() {
    using Kind = MemoryEntry::Kind;
    KeepingLedger ledger;
    MemoryOptions options;
    options.ledger = &ledger;
    HeapAllocator memory({20 * kMiB, 1.0, 0.0}, options);
    DeviceBlock* block = blockOf(memory.allocate(1000));
    const auto address = reinterpret_cast<std::uintptr_t>(block->data());
    QVERIFY(!memory.holdGraph(4 * kMiB));
    QVERIFY(!blockOf(memory.allocate(30 * kMiB)));
    memory.free(block);
    memory.emptyCache();
    memory.releaseGraphs();
    memory.releaseGraphs();  // nothing to release is no change
    const MemoryEntry expected[] = {
        {Kind::ReserveHeap, 0, address, HeapRules::kSmallHeap, 0, 0, HeapRules::kSmallHeap},
        {Kind::Allocate, 0, address, 1024, 1000, 1024, HeapRules::kSmallHeap},
        {Kind::GraphCache, 0, 0, 4 * kMiB, 0, 1024, 12 * kMiB},
        {Kind::OutOfMemory, 0, 0, 30 * kMiB, 30 * kMiB, 1024, 12 * kMiB},
        {Kind::Free, 0, address, 1024, 0, 0, 12 * kMiB},
        {Kind::ReleaseHeap, 0, address, HeapRules::kSmallHeap, 0, 0, 4 * kMiB},
        {Kind::ReleaseGraphs, 0, 0, 4 * kMiB, 0, 0, 0}};
    QCOMPARE(ledger.entries.size(), std::size(expected));
    std::uint64_t last = 1;
    for (std::size_t i = 0; i < std::size(expected); ++i) {
      const MemoryEntry& entry = ledger.entries[i];
      QCOMPARE(int(entry.kind), int(expected[i].kind));
      QCOMPARE(entry.address, expected[i].address);
      QCOMPARE(entry.bytes, expected[i].bytes);
      QCOMPARE(entry.requestedBytes, expected[i].requestedBytes);
      QCOMPARE(entry.currentBytes, expected[i].currentBytes);
      QCOMPARE(entry.driverBytes, expected[i].driverBytes);
      QVERIFY(entry.timeNs >= last);
      last = entry.timeNs;
    }
  }

  void refusesTheNthAllocation() {
    MemoryOptions options;
    options.outOfMemoryAt = 3;
    HeapAllocator memory({kGiB, 1.0, 0.0}, options);
    DeviceBlock* kept = blockOf(memory.allocate(1));
    memory.free(blockOf(memory.allocate(20 * kMiB)));
    const auto outcome = memory.allocate(1);
    const auto* refused = std::get_if<OutOfMemory>(&outcome);
    QVERIFY(refused);
    QCOMPARE(refused->heapBytes, 8 * kMiB);  // the cache was emptied first
    QCOMPARE(memory.counters().outOfMemories, 1u);
    memory.free(blockOf(memory.allocate(1)));
    memory.free(kept);
  }

  void graphsCountAndStay() {
    HeapAllocator memory({100 * kMiB, 1.0, 0.0});
    GraphCache graphs(memory, 10 * kMiB);
    QVERIFY(!graphs.use(1) && !graphs.use(2) && !graphs.use(1));
    QCOMPARE(graphs.size(), 2u);
    memory.free(blockOf(memory.allocate(60 * kMiB)));
    QCOMPARE(memory.counters().driverBytes, 80 * kMiB);
    QCOMPARE(memory.counters().heapBytes, 60 * kMiB);
    memory.emptyCache();
    QCOMPARE(memory.counters().driverBytes, 20 * kMiB);
    const auto outcome = memory.allocate(90 * kMiB);
    const auto* refused = std::get_if<OutOfMemory>(&outcome);
    QVERIFY(refused);
    QCOMPARE(refused->heapBytes, 0u);
    QCOMPARE(refused->otherBytes, 20 * kMiB);
  }

  void clearedGraphsAreChargedAgain() {
    HeapAllocator memory({100 * kMiB, 1.0, 0.0});
    GraphCache graphs(memory, 10 * kMiB);
    QVERIFY(!graphs.use(1) && !graphs.use(2));
    graphs.clear();
    QCOMPARE(graphs.size(), 0u);
    QCOMPARE(memory.counters().driverBytes, 0u);
    QCOMPARE(memory.counters().driverPeakBytes, 20 * kMiB);
    QVERIFY(!graphs.use(1));
    QCOMPARE(memory.counters().driverBytes, 10 * kMiB);
  }

  void graphsAreRefusedLikeBlocks() {
    HeapAllocator memory({100 * kMiB, 1.0, 0.0});
    GraphCache graphs(memory, 50 * kMiB);
    memory.free(blockOf(memory.allocate(60 * kMiB)));
    QVERIFY(!graphs.use(1));  // the cache made room
    DeviceBlock* kept = blockOf(memory.allocate(40 * kMiB));
    QVERIFY(graphs.use(2).has_value());
    QCOMPARE(graphs.size(), 1u);
    memory.free(kept);
    QVERIFY(!graphs.use(2));
  }
};

HIGHWATER_TEST(AllocatorLedgerTest, QCoreApplication)
#include "tst_allocator_ledger.moc"

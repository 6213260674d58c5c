#include <QtTest>
#include <sstream>
#include <vector>

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

/// The ledger, debug log and knobs of the allocator.
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
        {Kind::ReserveHeap, 0, address, kSmallHeap, 0, 0, kSmallHeap},
        {Kind::Allocate, 0, address, 1024, 1000, 1024, kSmallHeap},
        {Kind::GraphCache, 0, 0, 4 * kMiB, 0, 1024, 12 * kMiB},
        {Kind::OutOfMemory, 0, 0, 30 * kMiB, 30 * kMiB, 1024, 12 * kMiB},
        {Kind::Free, 0, address, 1024, 0, 0, 12 * kMiB},
        {Kind::ReleaseHeap, 0, address, kSmallHeap, 0, 0, 4 * kMiB},
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

  void debugLinesFollowTheBits_data() {
    QTest::addColumn<uint>("bits");
    QTest::addColumn<QStringList>("lines");
    const QString start =
        "Initializing shared heap allocator on unified device memory of size 1024.00 MiB";
    const QString all =
        "Attempting to release cached buffers (MPS allocated: 40.00 MiB, other "
        "allocations: 0 bytes)";
    QTest::newRow("silent") << 0u << QStringList{};
    QTest::newRow("profiling") << 1u
                               << QStringList{"High watermark memory allocation limit: 1.70 GiB",
                                              "Low watermark memory allocation limit: unlimited",
                                              start, all};
    const QString newLarge =
        "Allocated shared buffer #2 of size 3.00 MiB at * from heap #2 "
        "(requested: 3.00 MiB, heap: 29.00 MiB, total: 40.00 MiB)";
    QTest::newRow("allocations")
        << 2u
        << QStringList{
               start,
               "Allocated shared heap #1 of size 8.00 MiB (#heaps: 1, current allocated: "
               "8.00 MiB)",
               "Allocated shared buffer #1 of size 256 bytes at * from heap #1 (requested: 4 "
               "bytes, heap: 8.00 MiB, total: 8.00 MiB)",
               "Allocated shared heap #2 of size 32.00 MiB (#heaps: 1, current allocated: "
               "40.00 MiB)",
               newLarge,
               all};
    QTest::newRow("recycles") << 4u
                              << QStringList{start,
                                             "Reusing shared buffer #1 of size 256 bytes at * "
                                             "(requested: 8 bytes, use#: 2, retain#: 1)",
                                             all};
    QTest::newRow("large releases")
        << 24u
        << QStringList{
               start,
               all,
               "Releasing 1 buffers from small shared pool (total size: 256 bytes, #buffers: 1)",
               "Released heap #1 of size 8.00 MiB (current allocated: 32.00 MiB, retain#: 1)",
               "Releasing 1 buffers from large shared pool (total size: 3.00 MiB, #buffers: 1)",
               "Released buffer #2 of size 3.00 MiB from heap #2 (heap size: 32.00 MiB, use#: "
               "1, retain#: 1, gc#: 0)",
               "Released heap #2 of size 32.00 MiB (current allocated: 0 bytes, retain#: 1)"};
  }
  void debugLinesFollowTheBits() {
    QFETCH(uint, bits);
    QFETCH(QStringList, lines);
    std::ostringstream out;
    MemoryOptions options;
    options.log = MemoryLog(bits, &out);
    HeapAllocator memory({kGiB, 1.7, 0.0}, options);
    memory.free(blockOf(memory.allocate(4)));
    memory.free(blockOf(memory.allocate(3 * kMiB)));
    memory.free(blockOf(memory.allocate(8)));
    memory.emptyCache();
    QString printed = QString::fromStdString(out.str());
    printed.replace(QRegularExpression(" at 0x[0-9a-f]+ "), " at * ");
    QCOMPARE(printed.split('\n', Qt::SkipEmptyParts), lines);
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

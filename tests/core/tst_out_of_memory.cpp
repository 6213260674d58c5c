#include "core/out_of_memory.h"
#include "support/test_program.h"

using namespace highwater;

class TestOutOfMemoryText : public QObject {
  Q_OBJECT

 private slots:
  void readsPyTorchsMessage() {
    const auto numbers = outOfMemoryNumbers(
        "RuntimeError: MPS backend out of memory (MPS allocated: 1.50 GiB, other allocations: "
        "768.00 KiB, max allowed: 1.75 GiB). Tried to allocate 27.25 MiB on private pool. Use "
        "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may "
        "cause system failure).");
    QCOMPARE(numbers.requested, std::optional<std::uint64_t>(27 * 1048576 + 262144));
    QCOMPARE(numbers.allocated, std::optional<std::uint64_t>(1536ull << 20));
    QCOMPARE(numbers.other, std::optional<std::uint64_t>(768 << 10));
    QCOMPARE(numbers.maxAllowed, std::optional<std::uint64_t>(1792ull << 20));
  }

  void readsOlderUnitsAndNoLimit() {
    const auto numbers = outOfMemoryNumbers(
        "MPS backend out of memory (MPS allocated: 9.00 GB, other allocations: 256 bytes). Tried "
        "to allocate 512.00 MB on shared pool.");
    QCOMPARE(numbers.requested, std::optional<std::uint64_t>(512ull << 20));
    QCOMPARE(numbers.allocated, std::optional<std::uint64_t>(9ull << 30));
    QCOMPARE(numbers.other, std::optional<std::uint64_t>(256));
    QVERIFY(!numbers.maxAllowed);
  }

  void leavesOutWhatIsNoSize_data() {
    QTest::addColumn<QString>("text");
    for (const char* text :
         {"", "Tried to allocate", "Tried to allocate MiB", "Tried to allocate 5 parsecs",
          "Tried to allocate -5 MiB", "Tried to allocate .5 MiB", "Tried to allocate 1e9 GiB",
          "Tried to allocate 99999999999999999999999999 GiB", "Tried to allocate 5"}) {
      QTest::newRow(text) << text;
    }
  }
  void leavesOutWhatIsNoSize() {
    QFETCH(QString, text);
    QVERIFY(!outOfMemoryNumbers(text.toStdString()).requested);
  }

  void knowsARefusalFromALostCommandBuffer() {
    QVERIFY(isRefusedAllocation("step 3: MPS backend out of memory (MPS allocated: 1 bytes)"));
    QVERIFY(isRefusedAllocation("CUDA out of memory. Tried to allocate 2.00 MiB."));
    QVERIFY(!isRefusedAllocation(
        "MPS command buffer execution failed: Insufficient Memory (out of memory)"));
    QVERIFY(!isRefusedAllocation("Invalid buffer size: 9.75 GB"));
    const auto refused = refusedBufferBytes("RuntimeError: Invalid buffer size: 1.50 GB (a.py:3)");
    QCOMPARE(refused.value_or(0), std::uint64_t{1536} << 20);
    QVERIFY(!refusedBufferBytes("MPS backend out of memory"));
  }
};

HIGHWATER_TEST(TestOutOfMemoryText, QCoreApplication)
#include "tst_out_of_memory.moc"

#include "simmps/policy/graph_cache.h"
#include "simmps/policy_device.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::simmps;
using simmps::test::blockOf;
using simmps::test::optionsWith;

namespace {

/// A device without libtorch, whose jobs write to memory that the host has already freed.
class FillingDevice {
 public:
  explicit FillingDevice(AllocatorLimits limits) : memory(limits, optionsWith(queue)) {}

  /// Passes a block to a job that fills it, and frees it at once, like the tensor of an expression.
  bool fillAndFree(std::uint64_t bytes, unsigned char value) {
    DeviceBlock* block = blockOf(memory.allocate(bytes));
    if (!block) return false;
    queue.submit("fill", [this, data = block->data(), bytes, value] {
      std::memset(data, value, bytes);
      for (std::uint64_t i = 0; i < bytes; i += 4096) {
        if (std::to_integer<unsigned char>(data[i]) != value) ++wrong;
      }
    });
    memory.free(block);
    return true;
  }

  /// As above, but the job frees the block, like a job that holds the last reference to a tensor.
  bool fillInJob(std::uint64_t bytes) {
    DeviceBlock* block = blockOf(memory.allocateScalar(bytes));
    if (!block) return false;
    queue.submit("scalar", [this, block, bytes] {
      std::memset(block->data(), 1, bytes);
      memory.free(block);
    });
    return true;
  }

  HeapAllocator memory;
  DeviceQueue queue;  // destroyed first, since its jobs use the memory
  std::atomic<int> wrong{0};
};

}  // namespace

/// Several host threads and the queue's thread share one allocator: for thread sanitizer, and to
/// crash if memory is returned to the system before the queue has passed it.
class MemoryThreadsTest : public QObject {
  Q_OBJECT

 private slots:
  void hostsAndJobsShareTheMemory_data() {
    QTest::addColumn<double>("high");
    QTest::addColumn<double>("low");
    QTest::newRow("roomy") << 0.0 << 0.0;
    QTest::newRow("short of memory") << 1.0 << 1.0;
    QTest::newRow("always under pressure") << 2.0 << 0.1;
  }
  void hostsAndJobsShareTheMemory() {
    QFETCH(double, high);
    QFETCH(double, low);
    FillingDevice device({24 * kMiB, high, low});
    GraphCache graphs(device.memory, 256);
    std::vector<std::thread> hosts;
    for (unsigned host = 0; host < 3; ++host) {
      hosts.emplace_back([&device, &graphs, host] {
        std::mt19937 random(host);
        for (int i = 0; i < 400; ++i) {
          const auto value = static_cast<unsigned char>(random() % 256);
          device.fillAndFree(1 + random() % (random() % 8 ? 64 * kKiB : 12 * kMiB), value);
          if (i % 3 == 0) device.fillInJob(8);
          if (i % 50 == 0) device.memory.emptyCache();
          if (i % 10 == 0) graphs.use(random() % 20);
          if (i % 40 == 0) device.memory.residentBytes();
        }
      });
    }
    for (std::thread& host : hosts) host.join();
    QVERIFY(!device.queue.drain());
    QCOMPARE(device.wrong.load(), 0);
    QCOMPARE(device.memory.counters().currentBytes, 0u);
    QCOMPARE(device.memory.counters().liveBlocks, 0u);
    QCOMPARE(device.memory.counters().graphBytes, 256 * graphs.size());
  }

  void emptyCacheWaitsForJobs() {
    FillingDevice device({kGiB, 1.7, 1.4});
    for (int i = 0; i < 20; ++i) {
      QVERIFY(device.fillAndFree(3 * kMiB, static_cast<unsigned char>(i)));
      device.memory.emptyCache();
      QCOMPARE(device.memory.counters().driverBytes, 0u);
    }
    QCOMPARE(device.wrong.load(), 0);
  }
};

HIGHWATER_TEST(MemoryThreadsTest, QCoreApplication)
#include "tst_memory_threads.moc"

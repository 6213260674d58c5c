#include "simmps/policy/process_fork.h"

#include <unistd.h>

#include <chrono>
#include <future>
#include <mutex>

#include "simmps/policy/file_ledger.h"
#include "simmps/policy/graph_cache.h"
#include "simmps/policy/simulated_machine.h"
#include "simmps/policy_device.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::simmps;
using simmps::test::blockOf;
using simmps::test::inChild;
using simmps::test::optionsWith;

namespace {

constexpr std::uint64_t kBlock = 20 * kMiB;

/// The device without libtorch, composed as in device.cpp.
struct SmallDevice {
  explicit SmallDevice(Ledger* ledger = nullptr, AllocatorLimits limits = {kGiB, 0.0, 0.0})
      : queue({.maxPending = 8,
               .forkPatience = std::chrono::milliseconds(10),  // BusyDevice never ends in time
               .ledger = ledger}),
        memory(limits, optionsWith(queue, ledger)) {}

  bool allocateAndFree(std::uint64_t bytes) {
    DeviceBlock* block = blockOf(memory.allocate(bytes));
    if (block) memory.free(block);
    return block != nullptr;
  }
  /// Uses each object with a lock once.
  bool useAll() {
    bool ran = false;
    queue.submit("aten::add", [&] { ran = true; });
    if (graphs.use(queue.submitted()).has_value()) return false;
    graphs.clear();
    if (machine.read().systemBytes != kGiB || !allocateAndFree(kBlock)) return false;
    return !queue.drain() && ran;
  }

  /// Called by a reading while the machine's lock is held.
  std::function<void()> atReading = [] {};
  DeviceQueue queue;
  HeapAllocator memory;
  GraphCache graphs{memory, 256};
  SimulatedMachine machine{{kGiB, 0, {}},
                           {[this] { return atReading(), kMiB; }, [] { return kMiB; },
                            [this] { return memory.counters().driverBytes; }, deviceClockNs}};
};

/// Called with the locks of the objects that use it held; holds them for 200 ms once.
class SlowLedger final : public Ledger {
 public:
  void add(const MemoryEntry& entry) override {
    if (entry.kind == slowAt) wait();
  }
  void add(const KernelEntry&) override {}
  void add(const DrainEntry&) override { wait(); }
  void add(const FallbackEntry&) override {}

  void wait() {
    if (!armed.exchange(false)) return;
    waits.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }

  MemoryEntry::Kind slowAt = MemoryEntry::Kind::Allocate;
  std::atomic<bool> armed{true};
  std::promise<void> waits;
};

/// A job that runs for the life of this object.
class BusyDevice {
 public:
  explicit BusyDevice(DeviceQueue& queue) : queue_(queue) {
    std::promise<void> started;
    queue.submit("busy", [&started, open = gate_.get_future().share()] {
      started.set_value();
      open.wait();
    });
    started.get_future().wait();
  }
  ~BusyDevice() {
    gate_.set_value();
    queue_.wait();
  }

 private:
  DeviceQueue& queue_;
  std::promise<void> gate_;
};

}  // namespace

Q_DECLARE_METATYPE(std::function<void(SmallDevice&, SlowLedger&)>)

/// Children forked while the device works, such as DataLoader's workers.
class ProcessForkTest : public QObject {
  Q_OBJECT

 private slots:
  void stepsRunInTheirOrder() {
    std::string seen;
    const auto steps = [&seen](const char* name) {
      return ForkSteps::Steps{[&seen, name] { seen += name; },
                              [&seen, name] { seen += std::string("-") + name; },
                              [&seen, name] { seen += std::string("+") + name; }};
    };
    {
      const ForkSteps queue(ForkOrder::Queue, steps("Q"));
      const ForkSteps memory(ForkOrder::Memory, steps("M")), other(ForkOrder::Memory, steps("O"));
      QCOMPARE(inChild([&] { return seen == "MOQ+Q+O+M" ? 0 : 1; }), 0);
      QCOMPARE(seen, std::string("MOQ-Q-O-M"));
    }
    QCOMPARE(inChild([&] { return seen == "MOQ-Q-O-M" ? 0 : 1; }), 0);
  }

  void aForkWaitsForTheRunningJob() {
    DeviceQueue queue;
    std::mutex lockOfALibrary;
    for (int i = 0; i < 5; ++i) {
      std::promise<void> locked;
      queue.submit("aten::add", [&] {
        const std::lock_guard lock(lockOfALibrary);
        locked.set_value();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      });
      locked.get_future().wait();
      QCOMPARE(inChild([&] { return lockOfALibrary.try_lock() && !queue.lostJobs() ? 0 : 1; }), 0);
      queue.wait();
    }
  }

  void aForkGoesAheadWhileAJobWaitsForTheHost() {
    SmallDevice device;
    const BusyDevice busy(device.queue);
    const auto ofAChild = [&] { return inChild([&] { return device.useAll() ? 0 : 1; }); };
    QCOMPARE(inChild(ofAChild), 0);
    QCOMPARE(inChild(ofAChild), 0);
  }

  void aJobMayFork() {
    SmallDevice device;
    int end = -1;
    device.queue.submit("fork", [&] { end = inChild([&] { return device.useAll() ? 0 : 1; }); });
    QVERIFY(device.useAll());
    QCOMPARE(end, 0);
  }

  void pendingJobsCountAsFinishedInAChild() {
    SmallDevice device;
    const BusyDevice busy(device.queue);
    int ran = 0;
    for (int i = 0; i < 5; ++i) device.queue.submit("aten::add", [&] { ++ran; });
    QCOMPARE(inChild([&] {
               const bool over = device.queue.pending() == 0 && device.queue.lostJobs();
               return over && device.useAll() && ran == 0 ? 0 : 1;
             }),
             0);
    QCOMPARE(device.queue.pending(), 6u);
    QVERIFY(!device.queue.lostJobs());
  }

  void memoryOfPendingJobsIsReleasedInAChild() {
    SmallDevice device(nullptr, {kGiB, 1.0, 0.5});
    const BusyDevice busy(device.queue);
    QVERIFY(device.allocateAndFree(600 * kMiB));  // the job may still use it
    QCOMPARE(inChild([&] {
               // Under pressure this waits for the cached block to be idle.
               if (!device.allocateAndFree(300 * kMiB)) return 1;
               device.memory.emptyCache();
               return device.memory.counters().driverBytes == 0 ? 0 : 2;
             }),
             0);
  }

  void anIdleQueueLosesNoJobs() {
    SmallDevice device;
    QVERIFY(device.useAll());
    QCOMPARE(inChild([&] { return !device.queue.lostJobs() && device.useAll() ? 0 : 1; }), 0);
  }

  void aChildMayDestroyItsCopies() {
    const QTemporaryDir folder;
    Settings settings;
    settings.ledgerFile = folder.filePath("ledger").toStdString();
    auto opened = FileLedger::open(settings, {"device", "torch"});
    auto& ledger = std::get<std::unique_ptr<FileLedger>>(opened);
    auto device = std::make_unique<SmallDevice>(ledger.get());
    QVERIFY(device->useAll());  // starts the queue's thread and the ledger's
    QCOMPARE(inChild([&] {
               device.reset();
               ledger.reset();
               return 0;
             }),
             0);
  }

  void aLockThatAThreadHoldsIsFreeInAChild_data() {
    QTest::addColumn<std::function<void(SmallDevice&, SlowLedger&)>>("use");
    const auto add = [](const char* name, std::function<void(SmallDevice&, SlowLedger&)> use) {
      QTest::newRow(name) << std::move(use);
    };
    add("memory", [](SmallDevice& device, SlowLedger&) { device.allocateAndFree(kBlock); });
    add("graphs", [](SmallDevice& device, SlowLedger& ledger) {
      ledger.slowAt = MemoryEntry::Kind::ReleaseGraphs;
      device.graphs.use(1);
      device.graphs.clear();
    });
    add("queue", [](SmallDevice& device, SlowLedger&) {
      for (int i = 0; i < 12; ++i) {
        device.queue.submit("aten::add", [] { usleep(2000); });  // until it is full
      }
    });
    add("machine", [](SmallDevice& device, SlowLedger& ledger) {
      device.atReading = [&ledger] { ledger.wait(); };
      (void)device.machine.read();
    });
  }
  void aLockThatAThreadHoldsIsFreeInAChild() {
    QFETCH(std::function<void(SmallDevice&, SlowLedger&)>, use);
    SlowLedger ledger;
    SmallDevice device(&ledger);
    std::thread host([&] { use(device, ledger); });
    ledger.waits.get_future().wait();
    const int end = inChild([&] { return device.useAll() ? 0 : 1; });
    host.join();
    QCOMPARE(end, 0);
  }

  void locksOfOtherThreadsAreFreeInAChild() {
#ifdef __SANITIZE_ADDRESS__
    // Before GCC 14 the address sanitizer does not hold its allocator's locks during a fork, so a
    // child may hang in malloc while these threads allocate.
    QSKIP("the address sanitizer's own allocator may be locked in the child");
#endif
    const QTemporaryDir folder;
    Settings settings;
    settings.ledgerFile = folder.filePath("ledger").toStdString();
    auto opened = FileLedger::open(settings, {"device", "torch"});
    SmallDevice device(std::get<std::unique_ptr<FileLedger>>(opened).get());
    std::atomic<bool> stop{false};
    std::vector<std::thread> hosts;
    for (int i = 0; i < 2; ++i) {
      hosts.emplace_back([&] {
        while (!stop) device.useAll();
      });
    }
    std::vector<int> ends;
    for (int i = 0; i < 40; ++i) {
      ends.push_back(inChild([&] { return device.useAll() ? 0 : 1; }));
      if (ends.back() != 0) break;
    }
    stop = true;
    for (std::thread& host : hosts) host.join();
    QCOMPARE(ends, std::vector<int>(40, 0));
  }
};

HIGHWATER_TEST(ProcessForkTest, QCoreApplication)
#include "tst_process_fork.moc"

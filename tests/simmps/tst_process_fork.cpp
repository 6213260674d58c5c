#include "simmps/process_fork.h"

#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>
#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "simmps/device_queue.h"
#include "simmps/file_ledger.h"
#include "simmps/graph_cache.h"
#include "simmps/heap_allocator.h"
#include "simmps/simulated_machine.h"

using namespace highwater::simmps;

namespace {

constexpr std::uint64_t kBlock = 20 * kMiB;

/// The device without libtorch, as device.cpp puts it together.
struct SmallDevice {
  explicit SmallDevice(Ledger* ledger = nullptr, MemoryLimits limits = {kGiB, 0.0, 0.0})
      : queue({.ledger = ledger}), memory(limits, options(ledger)) {}

  MemoryOptions options(Ledger* ledger) {
    MemoryOptions options;
    options.jobs.submitted = [this] { return queue.submitted(); };
    options.jobs.finished = [this] { return queue.finished(); };
    options.jobs.wait = [this] { queue.wait(); };
    options.ledger = ledger;
    return options;
  }
  bool allocateAndFree(std::uint64_t bytes) {
    const auto outcome = memory.allocate(bytes);
    auto* const* block = std::get_if<DeviceBlock*>(&outcome);
    if (block) memory.free(*block);
    return block != nullptr;
  }
  /// All that has a lock, once.
  bool useAll() {
    bool ran = false;
    queue.submit("aten::add", [&] { ran = true; });
    if (graphs.use(queue.submitted()).has_value()) return false;
    graphs.clear();
    if (machine.read().systemBytes != kGiB || !allocateAndFree(kBlock)) return false;
    return !queue.drain() && ran;
  }

  DeviceQueue queue;
  HeapAllocator memory;
  GraphCache graphs{memory, 256};
  SimulatedMachine machine{{kGiB, 0, {}},
                           {[] { return kMiB; }, [] { return kMiB; },
                            [this] { return memory.counters().driverBytes; }, deviceClockNs}};
};

/// Exit code of what `action` returns in a forked child; negative the signal that ended it, SIGALRM
/// after 20 s.
int inChild(const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(action());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// A job that runs until this ends.
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

/// Children that are forked while the device works: DataLoader's workers, among others.
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

  void pendingJobsAreOverInAChild() {
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
    QVERIFY(device.allocateAndFree(600 * kMiB));  // the job may use it
    QCOMPARE(inChild([&] {
               // Under pressure this waits for the cached block to be idle.
               if (!device.allocateAndFree(300 * kMiB)) return 1;
               device.memory.emptyCache();
               return device.memory.counters().driverBytes == 0 ? 0 : 2;
             }),
             0);
  }

  void anIdleQueueHasLostNothing() {
    SmallDevice device;
    QVERIFY(device.useAll());
    QCOMPARE(inChild([&] { return !device.queue.lostJobs() && device.useAll() ? 0 : 1; }), 0);
  }

  void aChildMayEndItsCopies() {
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

  void locksOfOtherThreadsAreFreeInAChild() {
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

QTEST_GUILESS_MAIN(ProcessForkTest)
#include "tst_process_fork.moc"

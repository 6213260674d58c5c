#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QCoreApplication>
#include <csignal>
#include <stdexcept>

#include "simmps/policy/device_queue.h"
#include "support/test_program.h"

using namespace highwater::simmps;

namespace {

/// Keeps the queue's entries and drops all others.
class Account : public Ledger {
 public:
  void add(const MemoryEntry&) override {}
  void add(const KernelEntry& entry) override { kernels.push_back(entry); }
  void add(const DrainEntry& entry) override { drains.push_back(entry); }
  void add(const FallbackEntry&) override {}
  void addEvent(const EventEntry& entry) override { events.push_back(entry); }
  void addNotice(const NoticeEntry& entry) override { notices.push_back(entry); }
  void addFault(const FaultEntry& entry) override { faults.push_back(entry); }
  void flush() override { flushedFaults = faults.size(); }

  // Not guarded: the queue's thread writes, the test reads after a drain; one host thread drains.
  std::vector<KernelEntry> kernels;
  std::vector<DrainEntry> drains;
  std::vector<EventEntry> events;
  std::vector<NoticeEntry> notices;  ///< written by the notices' thread, read after the queue's end
  std::vector<FaultEntry> faults;
  std::atomic<std::size_t> flushedFaults{0};
};

void workFor(std::uint64_t ns) {
  const std::uint64_t end = deviceClockNs() + ns;
  while (deviceClockNs() < end) {
  }
}

// Programs of child processes. A child is this program with the name as argument, since thread
// sanitizer allows no threads in the fork of a process that has some.

/// Expected to be killed by SIGALRM, since the wait never ends; 1: a job ran after the hang.
int waitForAHungQueue() {
  std::atomic<int> ran{0};
  DeviceQueue queue({.knobs = {.hangAt = 3}});
  queue.submit(
      "seed", [] {}, DeviceQueue::JobKind::Upkeep);
  for (int i = 0; i < 5; ++i) queue.submit("aten::add", [&] { ++ran; });
  while (ran < 2) usleep(1000);
  usleep(100000);
  if (ran != 2 || queue.pending() != 3) return 1;
  alarm(1);
  queue.wait();
  return 2;
}

int stopAHungQueue() {
  Account account;
  int late = 0;
  {
    DeviceQueue queue({.knobs = {.hangAt = 2}, .ledger = &account});
    for (int i = 0; i < 5; ++i) queue.submit("aten::add", [] {});
    queue.stop();
    queue.submit("aten::late", [&] { ++late; });
    queue.wait();
  }
  const bool told = account.flushedFaults == 1 && account.faults[0].kernel == 2 &&
                    account.faults[0].kind == FaultEntry::Kind::Hang;
  return told && late == 0 && account.kernels.size() == 1 ? 0 : 1;
}

int crash() {
  DeviceQueue queue({.knobs = {.crashAt = 2}});
  queue.submit("aten::add", [] {});
  queue.submit("aten::mul", [] {});
  queue.wait();
  return 0;
}

int runChild(int argc, char** argv) {
  const std::string name = argc == 2 ? argv[1] : "";
  const rlimit noCore{0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  if (name == "wait") return waitForAHungQueue();
  if (name == "stop") return stopAHungQueue();
  return name == "crash" ? crash() : 99;
}

[[maybe_unused]] const bool childIsRegistered =
    highwater::testing::registerTestProcess("queue_knobs_child", &runChild);

struct ChildEnd {
  int exitCode = -1;
  int signal = 0;
  QByteArray errors;
};

ChildEnd child(const char* name) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t process = fork();
  if (process == 0) {
    dup2(ends[1], STDERR_FILENO);
    execl("/proc/self/exe", "tst_simmps", "queue_knobs_child", name, static_cast<char*>(nullptr));
    _exit(98);
  }
  ::close(ends[1]);
  ChildEnd end;
  char text[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], text, sizeof text)) > 0;) {
    end.errors.append(text, count);
  }
  ::close(ends[0]);
  int status = 0;
  waitpid(process, &status, 0);
  if (WIFEXITED(status)) end.exitCode = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace

class QueueKnobsTest : public QObject {
  Q_OBJECT

 private slots:
  void recordsKernelsEventsAndWaits() {
    Account account;
    {
      DeviceQueue queue({.maxPending = 4, .ledger = &account});
      queue.submit(
          "seed", [] {}, DeviceQueue::JobKind::Upkeep);
      for (int i = 0; i < 20; ++i) queue.submit("aten::mm", [] { workFor(100'000); });
      queue.record(std::make_shared<DeviceEvent>());
      queue.submit("aten::bad", [] { throw std::runtime_error("bad"); });
      queue.submit("aten::skipped", [] {});
      QVERIFY(queue.drain());
    }
    QCOMPARE(account.kernels.size(), std::size_t(22));
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < 21; ++i) {
      const KernelEntry& kernel = account.kernels[i];
      QVERIFY(kernel.enqueuedNs > 0 && kernel.enqueuedNs <= kernel.startNs);
      QVERIFY(kernel.startNs >= last && kernel.endNs >= kernel.startNs);
      last = kernel.endNs;
    }
    QVERIFY(account.kernels[0].endNs - account.kernels[0].startNs >= 100'000);
    QCOMPARE(account.kernels[21].op, std::string_view("aten::skipped"));
    QCOMPARE(account.kernels[21].startNs + account.kernels[21].endNs, 0u);
    QCOMPARE(account.events.size(), std::size_t(1));
    QVERIFY(account.events[0].recordedNs <= account.events[0].passedNs);
    QVERIFY(!account.drains.empty());
    for (const DrainEntry& drain : account.drains) {
      QVERIFY(drain.cause == DrainCause::QueueFull && drain.endNs >= drain.beginNs);
    }
  }

  void launchDelayComesBeforeEachKernel_data() {
    QTest::addColumn<quint64>("delayNs");
    QTest::newRow("20 us") << quint64(20'000);
    QTest::newRow("2 ms") << quint64(2'000'000);
  }
  void launchDelayComesBeforeEachKernel() {
    QFETCH(quint64, delayNs);
    Account account;
    DeviceQueue queue({.knobs = {.launchDelayNs = delayNs}, .ledger = &account});
    for (int i = 0; i < 20; ++i) queue.submit("aten::add", [] {});
    queue.wait();
    std::vector<std::uint64_t> gaps;
    for (std::size_t i = 1; i < account.kernels.size(); ++i) {
      gaps.push_back(account.kernels[i].startNs - account.kernels[i - 1].endNs);
      QVERIFY(gaps.back() >= delayNs);
    }
    std::sort(gaps.begin(), gaps.end());
    // A busy machine delays some of them, but not all.
    QVERIFY2(gaps[0] < 2 * delayNs + 100'000, qPrintable(QString::number(gaps[0])));
    // The delay is not part of the kernel's time.
    const auto shortest = std::min_element(
        account.kernels.begin(), account.kernels.end(),
        [](const auto& a, const auto& b) { return a.endNs - a.startNs < b.endNs - b.startNs; });
    QVERIFY(shortest->endNs - shortest->startNs < delayNs);
  }

  void slowdownStretchesEachKernel() {
    constexpr std::uint64_t kWorkNs = 100'000;
    Account account;
    DeviceQueue queue({.knobs = {.slowdown = 5}, .ledger = &account});
    std::vector<std::uint64_t> own;
    for (int i = 0; i < 100; ++i) {
      queue.submit("aten::mm", [&own] {
        const std::uint64_t start = deviceClockNs();
        workFor(kWorkNs);
        own.push_back(deviceClockNs() - start);
      });
    }
    queue.submit(
        "seed", [] { workFor(kWorkNs); }, DeviceQueue::JobKind::Upkeep);
    queue.wait();
    QCOMPARE(account.kernels.size(), own.size());
    std::vector<double> factors;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto taken = account.kernels[i].endNs - account.kernels[i].startNs;
      factors.push_back(static_cast<double>(taken) / static_cast<double>(own[i]));
      QVERIFY(factors.back() >= 5.0);
    }
    // A busy machine preempts some of these kernels of half a millisecond, but not all.
    QVERIFY2(*std::min_element(factors.begin(), factors.end()) < 6, "stretched too far");
  }

  void deferredJobsWaitForACommit() {
    constexpr std::uint64_t kAfter = 10;
    std::atomic<int> ran{0};
    DeviceQueue queue({.commitAfter = kAfter});
    const auto add = [&](std::uint64_t jobs) {
      for (std::uint64_t i = 0; i < jobs; ++i) queue.submit("aten::add", [&] { ++ran; });
    };
    const auto become = [&](int jobs) {
      return QTest::qWaitFor([&] { return ran == jobs; }, highwater::test::kWaitMs);
    };
    add(kAfter - 1);
    // Upkeep is no work, so it does not count.
    queue.submit(
        "seed", [&] { ++ran; }, DeviceQueue::JobKind::Upkeep);
    QVERIFY(!QTest::qWaitFor([&] { return ran > 0; }, 100));
    QCOMPARE(queue.pending(), kAfter);
    add(1);
    QVERIFY(become(11));
    add(3);
    queue.commit();
    QVERIFY(become(14));
    add(3);
    const auto event = std::make_shared<DeviceEvent>();
    queue.record(event);
    QVERIFY(become(17));
    QVERIFY(QTest::qWaitFor([&] { return event->done(); }, highwater::test::kWaitMs));
    add(3);
    queue.wait();
    QCOMPARE(ran.load(), 20);
    add(3);
    QVERIFY(!queue.drainUntil(*event));  // waits for what is committed, and commits nothing
    QCOMPARE(ran.load(), 20);
    QVERIFY(!queue.drain());
    QCOMPARE(ran.load(), 23);
    add(3);
    queue.stop();
    QCOMPARE(ran.load(), 26);
  }

  void aFullQueueCommits() {
    std::atomic<int> ran{0};
    DeviceQueue queue({.maxPending = 4, .commitAfter = 100});
    for (int i = 0; i < 40; ++i) queue.submit("aten::add", [&] { ++ran; });
    queue.wait();
    QCOMPARE(ran.load(), 40);
  }

  void hangStopsTheQueueForEver() { QCOMPARE(child("wait").signal, SIGALRM); }

  void aProcessWithAHungQueueCanEnd() { QCOMPARE(child("stop").exitCode, 0); }

  void crashAbortsAsMetalDoes() {
    const ChildEnd end = child("crash");
    QCOMPARE(end.signal, SIGABRT);
    QVERIFY2(end.errors.contains("failed assertion"), end.errors.constData());
    QVERIFY2(end.errors.contains("kernel 2, aten::mul"), end.errors.constData());
  }

  void jobsSubmittedDuringStopAreNotLost() {
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> ran{0};
      DeviceQueue queue;
      queue.submit("first", [&] { ++ran; });
      std::thread host([&] {
        for (int i = 0; i < 200; ++i) queue.submit("job", [&] { ++ran; });
        queue.wait();
      });
      queue.stop();
      host.join();
      QCOMPARE(ran.load(), 201);
    }
  }

  void jobsThatWaitedForRoomAreNotLost() {
    for (int round = 0; round < 200; ++round) {
      std::atomic<bool> open{false}, ran{false};
      DeviceQueue queue({.maxPending = 1});
      queue.submit("busy", [&] {
        while (!open) std::this_thread::yield();
      });
      std::thread host([&] { queue.submit("waits for room", [&] { ran = true; }); });
      std::thread stopper([&] { queue.stop(); });
      usleep(500);
      open = true;
      host.join();
      stopper.join();
      QVERIFY(ran);
      QCOMPARE(queue.pending(), 0u);
    }
  }
};

HIGHWATER_TEST(QueueKnobsTest, QCoreApplication)
#include "tst_queue_knobs.moc"

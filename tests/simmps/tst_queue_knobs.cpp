#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <QElapsedTimer>
#include <QtTest>
#include <atomic>
#include <csignal>
#include <mutex>
#include <vector>

#include "simmps/device_queue.h"

using namespace highwater::simmps;

namespace {

/// Keeps what the queue tells, and forgets the rest.
class Account : public Ledger {
 public:
  void add(const MemoryEntry&) override {}
  void add(const KernelEntry& entry) override { kernels.push_back(entry); }
  void add(const DrainEntry& entry) override { drains.push_back(entry); }
  void add(const FallbackEntry&) override {}
  void addEvent(const EventEntry& entry) override { events.push_back(entry); }
  void addFault(const FaultEntry& entry) override { faults.push_back(entry); }
  void flush() override { flushedFaults = faults.size(); }

  // Unguarded: written by the queue's thread, read after a drain; drains by the one host.
  std::vector<KernelEntry> kernels;
  std::vector<DrainEntry> drains;
  std::vector<EventEntry> events;
  std::vector<FaultEntry> faults;
  std::atomic<std::size_t> flushedFaults{0};
};

void workFor(std::uint64_t ns) {
  const std::uint64_t end = deviceClockNs() + ns;
  while (deviceClockNs() < end) {
  }
}

/// Status of a child process that does `action`, killed after `limitMs`: then it is SIGKILL's.
int statusOfChild(const std::function<int()>& action, int limitMs = 20000) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit noCore{0, 0};
    setrlimit(RLIMIT_CORE, &noCore);
    std::_Exit(action());
  }
  int status = 0;
  for (QElapsedTimer timer = {}; waitpid(child, &status, WNOHANG) == 0;) {
    if (!timer.isValid()) timer.start();
    if (timer.elapsed() > limitMs) kill(child, SIGKILL);
    QTest::qSleep(5);
  }
  return status;
}

}  // namespace

class QueueKnobsTest : public QObject {
  Q_OBJECT

 private slots:
  void keepsAnAccountOfKernelsEventsAndWaits() {
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
    // The least disturbed ones: a busy machine may delay any of them.
    QVERIFY2(gaps[2] < delayNs + 100'000, qPrintable(QString::number(gaps[2])));
    QVERIFY(queue.busyNs() < delayNs * 20);
  }

  void slowdownStretchesEachKernel() {
    constexpr std::uint64_t kWorkNs = 300'000;
    Account account;
    DeviceQueue queue({.knobs = {.slowdown = 5}, .ledger = &account});
    std::vector<std::uint64_t> own;
    for (int i = 0; i < 10; ++i) {
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
    QVERIFY2(*std::min_element(factors.begin(), factors.end()) < 5.5, "stretched too far");
  }

  void hangStopsTheQueueForEver() {
#ifdef __SANITIZE_THREAD__
    QSKIP("Thread sanitizer cannot follow the threads of a forked child.");
#endif
    // Exit code 1: something ran past the hang; killed by SIGALRM: the wait never ended.
    const int status = statusOfChild([] {
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
    });
    QVERIFY(WIFSIGNALED(status));
    QCOMPARE(WTERMSIG(status), SIGALRM);
  }

  void aHungQueueLetsItsProcessEnd() {
#ifdef __SANITIZE_THREAD__
    QSKIP("Thread sanitizer cannot follow the threads of a forked child.");
#endif
    const int status = statusOfChild([] {
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
    });
    QVERIFY(WIFEXITED(status));
    QCOMPARE(WEXITSTATUS(status), 0);
  }

  void crashAbortsAsMetalDoes() {
#ifdef __SANITIZE_THREAD__
    QSKIP("Thread sanitizer cannot follow the threads of a forked child.");
#endif
    int ends[2];
    QCOMPARE(pipe(ends), 0);
    const int status = statusOfChild([&] {
      dup2(ends[1], STDERR_FILENO);
      std::signal(SIGABRT, SIG_DFL);  // Qt Test's own handler prints and runs on
      DeviceQueue queue({.knobs = {.crashAt = 2}});
      queue.submit("aten::add", [] {});
      queue.submit("aten::mul", [] {});
      queue.wait();
      return 0;
    });
    ::close(ends[1]);
    QVERIFY(WIFSIGNALED(status));
    QCOMPARE(WTERMSIG(status), SIGABRT);
    char text[400] = {};
    QVERIFY(::read(ends[0], text, sizeof text - 1) > 0);
    ::close(ends[0]);
    QVERIFY2(QByteArray(text).contains("failed assertion"), text);
    QVERIFY2(QByteArray(text).contains("kernel 2, aten::mul"), text);
  }

  void hostsThatSubmitWhileItStopsLoseNothing() {
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
};

QTEST_GUILESS_MAIN(QueueKnobsTest)
#include "tst_queue_knobs.moc"

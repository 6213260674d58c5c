#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "simmps/ledger.h"
#include "simmps/process_fork.h"

namespace highwater::simmps {

/// The first job that threw since the last drain.
struct JobFailure {
  std::string op;
  std::exception_ptr error;
  std::uint64_t position = 0;  ///< the job's in the order of submission, from 1; 0: ran in place
};

/// A point in the queue's order. Share one with DeviceQueue::record(); it may be recorded again.
class DeviceEvent {
 public:
  /// True once the queue has passed the newest recording, and before any.
  bool done() const;
  /// Steady-clock time in ns at which the queue passed it; 0 before it has.
  std::uint64_t timeNs() const;

 private:
  friend class DeviceQueue;
  std::atomic<std::uint64_t> recordings_{0};
  std::atomic<std::uint64_t> passed_{0};
  std::atomic<std::uint64_t> timeNs_{0};
  std::atomic<std::uint64_t> position_{0};  ///< of the newest recording in the queue's order
};

/// How a queue differs from an honest one; the defaults change nothing. Kernels are counted from 1,
/// those that are skipped after a failure not at all.
struct QueueKnobs {
  std::uint64_t launchDelayNs = 0;  ///< before each kernel, on the device's thread
  double slowdown = 1;              ///< a kernel takes this many times as long, 1 or more
  std::uint64_t hangAt = 0;         ///< the queue stops for ever before its n-th kernel; 0: never
  std::uint64_t crashAt = 0;        ///< the process aborts before the n-th kernel; 0: never
};

/// The simulated device's one command queue: jobs run one after another, in the order of their
/// submission, on one thread of its own. The thread starts with the first job, so a fork before
/// that is harmless. In a child forked later jobs run where they are submitted, without knobs;
/// those that the parent had pending never run there, and what they hold is never released.
///
/// A job that throws is kept as the failure, and the jobs after it are skipped until drain() hands
/// the failure over: what follows would compute on tensors that were never written. Events and
/// upkeep are not skipped: a seed that was set holds whatever failed before it.
///
/// A queue that hangs (QueueKnobs::hangAt) takes jobs until it is full, and who waits for it waits
/// for ever. stop() leaves it behind with its thread, so that a process can end: jobs that never
/// ran are lost, and so are later ones.
class DeviceQueue {
 public:
  using Job = std::function<void()>;
  /// Called once on the queue's thread with the loop to run: place for guards of that thread.
  using ThreadScope = std::function<void(const std::function<void()>& loop)>;
  /// What a job is to a device. Upkeep (a seed) is part of the order only: a GPU would know nothing
  /// of it, and neither do knobs and ledger.
  enum class JobKind : std::uint8_t { Kernel, Upkeep };

  /// Jobs that may wait for the device before submit() blocks: about ten steps of a small model.
  /// Without a bound a host that never reads a result would run ahead without end.
  static constexpr std::uint64_t kMaxPending = 4096;

  struct Options {
    ThreadScope scope = {};
    std::uint64_t maxPending = kMaxPending;
    QueueKnobs knobs = {};
    Ledger* ledger = nullptr;  ///< of kernels, events and waits for a full queue; may be null
  };

  DeviceQueue() : DeviceQueue(Options()) {}
  explicit DeviceQueue(Options options);
  /// Runs what is pending, then ends the thread.
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  /// Appends a job; blocks while maxPending jobs wait. `op` names it in failures and must outlive
  /// the queue (literals, schema names).
  void submit(std::string_view op, Job job, JobKind kind = JobKind::Kernel);
  /// Appends a recording of the event. Passed even while jobs are skipped.
  void record(std::shared_ptr<DeviceEvent> event);

  /// Blocks until every job submitted before this call is over; a failure is left for drain().
  /// Returns at once on the queue's own thread.
  void wait();
  /// As wait(), then hands over the failure, if any, and lets later jobs run again.
  std::optional<JobFailure> drain();
  /// Blocks until the event's newest recording has passed, whatever was submitted behind it. Hands
  /// over the failure, as drain() does, where it is one of a job before that recording.
  std::optional<JobFailure> drainUntil(const DeviceEvent& event);

  /// Jobs and recordings submitted and not over yet.
  std::uint64_t pending() const;
  /// Jobs and recordings submitted since the start.
  std::uint64_t submitted() const { return submitted_.load(); }
  /// Those of them that are over, in the order of submission.
  std::uint64_t finished() const { return finished_.load(); }
  /// True in a child that was forked while jobs were pending: they never ran here.
  bool lostJobs() const { return lostJobs_; }

  /// Runs what is pending and ends the thread; jobs submitted later run where they are submitted.
  void stop();

 private:
  struct Item {
    std::string_view op;
    Job job;
    std::shared_ptr<DeviceEvent> event;
    std::uint64_t recording = 0;
    JobKind kind = JobKind::Kernel;
    std::uint64_t enqueuedNs = 0;  ///< 0 where no ledger is kept
  };
  enum class ThreadState : std::uint8_t { Runs, Ended, Hangs };

  static constexpr std::uint64_t kNobodyWaits = ~std::uint64_t(0);

  void append(Item item);
  bool enqueue(Item& item);
  void waitFor(std::uint64_t target);
  void waitForRoom(std::unique_lock<std::mutex>& lock, std::string_view op);
  void waitUntilFinished(std::unique_lock<std::mutex>& lock, std::uint64_t target);
  void start();
  void loop();
  void finishOne();
  void run(Item& item);
  void runKernel(Item& item);
  void runInPlace(Item& item);
  void pass(Item& item);
  void call(Item& item);
  void stopAtFaults(const Item& item);
  [[noreturn]] void hang();
  void fail(std::string_view op, std::exception_ptr error);
  void account(const Item& item, std::uint64_t startNs, std::uint64_t endNs);
  void stopInChild();
  bool runsInline() const { return stopped_.load(std::memory_order_acquire); }
  bool isDeviceThread() const { return threadId_.load() == std::this_thread::get_id(); }

  const Options options_;
  mutable std::mutex mutex_;
  /// Apart, so that a forked child can have new ones.
  struct Signals {
    std::condition_variable work;
    std::condition_variable targetReached;
  };
  std::unique_ptr<Signals> signals_ = std::make_unique<Signals>();
  std::vector<Item> items_;  ///< what the thread has not taken over yet
  bool sleeps_ = false;      ///< the thread waits for items
  bool stopping_ = false;
  ThreadState state_ = ThreadState::Runs;
  std::optional<JobFailure> failure_;
  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<std::uint64_t> finished_{0};
  /// Lowest count of finished_ that a host waits for.
  std::atomic<std::uint64_t> nextTarget_{kNobodyWaits};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> abandoned_{false};  ///< stopped while it hung
  std::atomic<bool> hasFailed_{false};
  bool lostJobs_ = false;
  std::uint64_t kernels_ = 0;  ///< started on the thread, and only known to it
  std::atomic<std::thread::id> threadId_{};
  std::thread thread_;
  const ForkSteps fork_;
};

}  // namespace highwater::simmps

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "simmps/policy/event_notices.h"
#include "simmps/policy/fork_gate.h"
#include "simmps/policy/ledger.h"
#include "simmps/policy/process_fork.h"

namespace highwater::simmps {

/// The first job that failed since DeviceQueue::drain() or drainUntil() last returned one.
struct JobFailure {
  std::string op;
  std::exception_ptr error;
  std::uint64_t position = 0;  ///< of the job in the order of submission, from 1; 0: ran in place
};

/// Marks a point between the jobs of a DeviceQueue, like torch.mps.Event. DeviceQueue::record()
/// sets the point, also repeatedly; the queue passes it when all earlier jobs have ended.
/// Thread-safe.
class DeviceEvent {
 public:
  /// True once the queue has passed the point last recorded, or if none was ever recorded.
  bool done() const;
  /// True once the time is known at which the queue passed the point last recorded.
  bool isNoticed() const;
  /// Time at which the queue last passed the event, in nanoseconds of deviceClockNs(); 0 if it
  /// never has, or if that is not noticed yet (DeviceQueue::waitForNotice()).
  std::uint64_t timeNs() const;

 private:
  friend class DeviceQueue;
  friend class EventNotices;
  /// Sets the time of a recording, unless that of a later one is known.
  void notice(std::uint64_t recording, std::uint64_t timeNs);

  std::atomic<std::uint64_t> recordings_{0};
  std::atomic<std::uint64_t> passed_{0};
  std::atomic<std::uint64_t> noticed_{0};
  std::atomic<std::uint64_t> timeNs_{0};
  std::atomic<std::uint64_t> position_{0};  ///< of the newest recording in the queue's order
};

/// Settings that slow down or break the queue on purpose; the defaults change nothing. A kernel is
/// a job of JobKind::Kernel. Kernels are counted from 1, without those skipped after a failure.
struct QueueKnobs {
  std::uint64_t launchDelayNs = 0;  ///< before each kernel, on the device's thread
  double slowdown = 1;              ///< a kernel takes this many times as long, 1 or more
  std::uint64_t hangAt = 0;         ///< the queue hangs before its n-th kernel; 0: never
  std::uint64_t crashAt = 0;        ///< the process aborts before the n-th kernel; 0: never
};

/// The simulated device's command queue: runs jobs one after another, in the order of submission,
/// on a thread of its own. The thread starts with the first job, so an earlier fork is harmless. A
/// later fork waits for the job or the scope that runs (ForkGate). In the child, new jobs run on
/// the thread that submits them, without knobs; the parent's pending jobs never run there, and what
/// they hold is leaked.
///
/// A job that throws is kept as the failure, and later jobs are skipped until drain() returns the
/// failure, since they would compute on tensors that were never written. Events and upkeep are not
/// skipped: a seed holds whatever failed before it.
///
/// A queue that hangs (QueueKnobs::hangAt) accepts jobs until it is full; waiting for it never
/// returns. stop() then abandons its thread, so that the process can end; pending and later jobs
/// are lost.
///
/// A queue that defers (Options::commitAfter) keeps jobs encoded until they are committed: by
/// commit(), record(), a wait for all jobs, a full queue, stop(), or the commitAfter-th kernel.
class DeviceQueue {
 public:
  /// Work for the queue. A job may throw, which makes it the failure that drain() returns.
  using Job = std::function<void()>;
  /// Function that the queue calls once on its thread. It must call `loop`, which runs all jobs,
  /// and may set up that thread before (such as PyTorch's thread-local guards).
  using ThreadScope = std::function<void(const std::function<void()>& loop)>;
  /// Kind of a job. A kernel is work that a GPU would run. Upkeep (such as seeding the generator)
  /// is not: it only keeps its place in the order, so QueueKnobs and the ledger ignore it.
  enum class JobKind : std::uint8_t { Kernel, Upkeep };

  /// Default for the number of pending jobs at which submit() blocks: about ten steps of a small
  /// model. Without a limit, a host that never reads a result would run ahead for ever.
  static constexpr std::uint64_t kMaxPending = 4096;

  /// Settings of a queue.
  struct Options {
    ThreadScope scope = {};
    std::uint64_t maxPending = kMaxPending;
    QueueKnobs knobs = {};
    std::uint64_t commitAfter = 0;  ///< commits after so many kernels; 0: each job at once
    /// How long a fork waits for the job that runs. Longer than all but the largest kernels take.
    std::chrono::milliseconds forkPatience{5000};
    bool lateNotices = false;  ///< the time of an event is taken by EventNotices, not by the queue
    /// Records kernels, events, their late notices, and waits for a full queue; may be null.
    Ledger* ledger = nullptr;
  };

  DeviceQueue() : DeviceQueue(Options()) {}
  /// Creates an empty queue; its thread starts with the first job. options.ledger must outlive it.
  explicit DeviceQueue(Options options);
  /// Runs pending jobs, then ends the thread, as stop() does.
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  /// Appends a job; blocks while maxPending jobs are pending. `op` names the job in failures and
  /// must outlive the queue (literals, schema names).
  void submit(std::string_view op, Job job, JobKind kind = JobKind::Kernel);
  /// Records the event: sets its point behind all jobs submitted so far. The queue passes it even
  /// while it skips jobs after a failure. Blocks like submit() while the queue is full.
  void record(std::shared_ptr<DeviceEvent> event);

  /// Lets the jobs start that were submitted so far. Does not block. Does nothing unless the queue
  /// defers.
  void commit();
  /// Commits, then blocks until all jobs submitted so far have ended; keeps a failure for drain().
  /// Returns at once on the queue's own thread.
  void wait();
  /// Commits, then blocks until all jobs submitted so far have ended. Then returns and clears the
  /// failure, if any, so that later jobs run again. Does not wait on the queue's own thread.
  std::optional<JobFailure> drain();
  /// Blocks until the event's newest recording has passed; does not wait for later jobs. Returns
  /// the failure, as drain() does, if it was before that recording.
  std::optional<JobFailure> drainUntil(const DeviceEvent& event);

  /// Blocks until the time of the event's newest recording is known, which the queue must have
  /// passed. Returns at once unless notices are late.
  void waitForNotice(const DeviceEvent& event);

  /// Number of jobs and events (calls of record()) that are in the queue or run now.
  std::uint64_t pending() const;
  /// Number of jobs and events (calls of record()) submitted since the start.
  std::uint64_t submitted() const { return submitted_.load(); }
  /// Number of jobs and events (calls of record()) finished since the start; they finish in the
  /// order of submission.
  std::uint64_t finished() const { return finished_.load(); }
  /// True in a child that was forked while jobs were pending; those never run in it.
  bool lostJobs() const { return lostJobs_; }

  /// Runs pending jobs and ends the thread. Later jobs run on the thread that submits them. If the
  /// queue hangs, abandons its thread instead: pending and later jobs are lost.
  void stop();

 private:
  struct Item {
    std::string_view op;
    Job job;
    std::shared_ptr<DeviceEvent> event;
    std::uint64_t recording = 0;
    JobKind kind = JobKind::Kernel;
    std::uint64_t enqueuedNs = 0;  ///< 0 without a ledger
  };
  enum class ThreadState : std::uint8_t { Runs, Ended, Hangs };

  static constexpr std::uint64_t kNobodyWaits = ~std::uint64_t(0);

  void append(Item item);
  bool enqueue(Item& item);
  bool encode(Item item);
  bool commitEncoded();
  void waitFor(std::uint64_t target);
  void waitForRoom(std::unique_lock<std::mutex>& lock, std::string_view op);
  void waitUntilFinished(std::unique_lock<std::mutex>& lock, std::uint64_t target);
  [[nodiscard]] std::future<void> start();
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
  const std::unique_ptr<EventNotices> notices_;  ///< null: the queue takes the times of events
  mutable std::mutex mutex_;
  /// Held by pointer, so that a forked child can replace them.
  struct Signals {
    std::condition_variable work;
    std::condition_variable targetReached;
  };
  std::unique_ptr<Signals> signals_ = std::make_unique<Signals>();
  std::vector<Item> items_;    ///< committed, but not yet taken by the thread
  std::vector<Item> encoded_;  ///< submitted, but not yet committed
  std::uint64_t encodedKernels_ = 0;
  bool sleeps_ = false;  ///< the thread waits for items
  bool stopping_ = false;
  ThreadState state_ = ThreadState::Runs;
  std::optional<JobFailure> failure_;
  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<std::uint64_t> finished_{0};
  /// Lowest value of finished_ that a host thread waits for.
  std::atomic<std::uint64_t> nextTarget_{kNobodyWaits};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> abandoned_{false};  ///< stopped while it hung
  std::atomic<bool> hasFailed_{false};
  bool lostJobs_ = false;
  std::uint64_t kernels_ = 0;  ///< started so far; used on the queue's thread only
  std::atomic<std::thread::id> threadId_{};
  std::thread thread_;
  ForkGate gate_;
  const ForkSteps fork_;
};

}  // namespace highwater::simmps

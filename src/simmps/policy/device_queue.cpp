#include "simmps/policy/device_queue.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <iterator>
#include <memory>
#include <utility>

#include "core/program_signals.h"

namespace highwater::simmps {
namespace {

/// Sleeps until shortly before the time (Linux may wake a thread 50 us late, plus scheduling
/// delay), then spins.
void waitUntil(std::uint64_t timeNs) {
  constexpr std::uint64_t kWakeUpNs = 150'000;
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  if (timeNs > deviceClockNs() + kWakeUpNs) {
    const std::uint64_t wakeUp = timeNs - kWakeUpNs;
    const timespec until = {static_cast<time_t>(wakeUp / kSecondNs),
                            static_cast<long>(wakeUp % kSecondNs)};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }
  while (deviceClockNs() < timeNs) {
  }
}

}  // namespace

bool DeviceEvent::done() const {
  return passed_.load() == recordings_.load();
}

bool DeviceEvent::isNoticed() const {
  return noticed_.load() == recordings_.load();
}

std::uint64_t DeviceEvent::timeNs() const {
  return isNoticed() ? timeNs_.load() : 0;
}

void DeviceEvent::notice(std::uint64_t recording, std::uint64_t timeNs) {
  if (recording <= noticed_.load()) return;
  timeNs_.store(timeNs);
  noticed_.store(recording);
}

DeviceQueue::DeviceQueue(Options options)
    : options_(std::move(options)),
      notices_(options_.lateNotices ? std::make_unique<EventNotices>(options_.ledger) : nullptr),
      gate_(options_.forkPatience),
      fork_(ForkOrder::Queue,
            {[this] { mutex_.lock(); }, [this] { mutex_.unlock(); }, [this] { stopInChild(); }}) {}

DeviceQueue::~DeviceQueue() {
  stop();
}

void DeviceQueue::submit(std::string_view op, Job job, JobKind kind) {
  append({op, std::move(job), nullptr, 0, kind, 0});
}

void DeviceQueue::record(std::shared_ptr<DeviceEvent> event) {
  const std::uint64_t recording = event->recordings_.fetch_add(1) + 1;
  append({"record event", {}, std::move(event), recording, JobKind::Upkeep, 0});
}

void DeviceQueue::append(Item item) {
  if (options_.ledger) item.enqueuedNs = deviceClockNs();
  if (runsInline() || !enqueue(item)) runInPlace(item);
}

/// False if the thread has ended in the meantime.
bool DeviceQueue::enqueue(Item& item) {
  bool wakeUp = false;
  std::future<void> begun;
  {
    std::unique_lock lock(mutex_);
    if (state_ == ThreadState::Ended) return false;
    if (!thread_.joinable()) begun = start();
    if (pending() >= options_.maxPending && !isDeviceThread()) waitForRoom(lock, item.op);
    // The queue may have been stopped while this waited for room.
    if (state_ == ThreadState::Ended) return false;
    const std::uint64_t position = submitted_.fetch_add(1) + 1;
    if (item.event) item.event->position_.store(position);
    if (options_.commitAfter > 0) {
      wakeUp = encode(std::move(item));
    } else {
      items_.push_back(std::move(item));
      wakeUp = std::exchange(sleeps_, false);
    }
  }
  if (wakeUp) signals_->work.notify_one();
  // What the thread sets up reads the environment, which the caller, such as a script, may change
  // as soon as this returns.
  if (begun.valid()) begun.wait();
  return true;
}

/// Keeps the item until it is committed. Returns what commitEncoded() does. Call with the lock
/// held.
bool DeviceQueue::encode(Item item) {
  // An event is committed as MPSEvent::recordLocked() does; what a job submits must not wait for
  // the host.
  const bool commits = item.event || isDeviceThread();
  if (item.kind == JobKind::Kernel) ++encodedKernels_;
  encoded_.push_back(std::move(item));
  return (commits || encodedKernels_ >= options_.commitAfter) && commitEncoded();
}

/// Returns whether the queue's thread must be woken up. Call with the lock held.
bool DeviceQueue::commitEncoded() {
  encodedKernels_ = 0;
  if (encoded_.empty()) return false;
  std::move(encoded_.begin(), encoded_.end(), std::back_inserter(items_));
  encoded_.clear();
  return std::exchange(sleeps_, false);
}

void DeviceQueue::commit() {
  if (options_.commitAfter == 0 || runsInline()) return;
  bool wakeUp = false;
  {
    const std::lock_guard lock(mutex_);
    wakeUp = commitEncoded();
  }
  if (wakeUp) signals_->work.notify_one();
}

void DeviceQueue::waitForRoom(std::unique_lock<std::mutex>& lock, std::string_view op) {
  const std::uint64_t begin = deviceClockNs();
  if (commitEncoded()) signals_->work.notify_one();
  waitUntilFinished(lock, submitted_ - options_.maxPending + 1);
  if (options_.ledger) {
    const std::uint64_t end = deviceClockNs();
    options_.ledger->add(DrainEntry{DrainCause::QueueFull, op, begin, end, begin, end});
  }
}

std::future<void> DeviceQueue::start() {
  const auto begun = std::make_shared<std::promise<void>>();
  const BlockedProgramSignals inherited;
  thread_ = std::thread([this, begun] {
    threadId_.store(std::this_thread::get_id());
    if (!options_.scope) {
      begun->set_value();
      loop();
      return;
    }
    // What the scope sets up may take locks too.
    gate_.enter();
    options_.scope([this, begun] {
      gate_.leave();
      begun->set_value();
      loop();
      gate_.enter();
    });
    gate_.leave();
  });
  return begun->get_future();
}

void DeviceQueue::loop() {
  std::vector<Item> batch;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      while (items_.empty() && !stopping_) {
        sleeps_ = true;
        signals_->work.wait(lock);
      }
      sleeps_ = false;
      if (items_.empty()) {
        state_ = ThreadState::Ended;
        signals_->targetReached.notify_all();
        return;
      }
      batch.swap(items_);
    }
    for (Item& item : batch) {
      gate_.enter();
      run(item);
      // Releases what the job holds before its end is published.
      item = Item{};
      finishOne();
      gate_.leave();
    }
    batch.clear();
  }
}

void DeviceQueue::finishOne() {
  // waitUntilFinished() writes and reads these in the opposite order, so one side sees the other's
  // write.
  const std::uint64_t finished = finished_.fetch_add(1) + 1;
  if (finished < nextTarget_.load()) return;
  const std::lock_guard lock(mutex_);
  nextTarget_.store(kNobodyWaits);
  signals_->targetReached.notify_all();
}

void DeviceQueue::waitUntilFinished(std::unique_lock<std::mutex>& lock, std::uint64_t target) {
  for (;;) {
    nextTarget_.store(std::min(nextTarget_.load(), target));
    if (finished_.load() >= target) return;
    signals_->targetReached.wait(lock);
  }
}

void DeviceQueue::run(Item& item) {
  if (item.event) {
    pass(item);
  } else if (item.kind == JobKind::Upkeep) {
    call(item);
  } else if (hasFailed_.load(std::memory_order_acquire)) {
    account(item, 0, 0);
  } else {
    runKernel(item);
  }
}

void DeviceQueue::runKernel(Item& item) {
  const QueueKnobs& knobs = options_.knobs;
  ++kernels_;
  stopAtFaults(item);
  if (knobs.launchDelayNs > 0) waitUntil(deviceClockNs() + knobs.launchDelayNs);
  const std::uint64_t start = deviceClockNs();
  call(item);
  std::uint64_t end = deviceClockNs();
  if (knobs.slowdown > 1) {
    waitUntil(start +
              static_cast<std::uint64_t>(static_cast<double>(end - start) * knobs.slowdown));
    end = deviceClockNs();
  }
  account(item, start, end);
}

void DeviceQueue::runInPlace(Item& item) {
  if (abandoned_.load(std::memory_order_acquire)) return;
  if (item.event) {
    pass(item);
    return;
  }
  const bool skipped = item.kind == JobKind::Kernel && hasFailed_.load(std::memory_order_acquire);
  const std::uint64_t start = skipped ? 0 : deviceClockNs();
  if (!skipped) call(item);
  account(item, start, skipped ? 0 : deviceClockNs());
}

void DeviceQueue::pass(Item& item) {
  const std::uint64_t now = deviceClockNs();
  if (!notices_) item.event->notice(item.recording, now);
  item.event->passed_.store(item.recording);
  if (options_.ledger) options_.ledger->addEvent({item.enqueuedNs, now});
  if (notices_) notices_->post(item.event, item.recording, item.enqueuedNs);
}

void DeviceQueue::call(Item& item) {
  try {
    item.job();
  } catch (...) {
    fail(item.op, std::current_exception());
  }
}

void DeviceQueue::stopAtFaults(const Item& item) {
  const bool crashes = kernels_ == options_.knobs.crashAt;
  if (!crashes && kernels_ != options_.knobs.hangAt) return;
  if (options_.ledger) {
    const auto kind = crashes ? FaultEntry::Kind::Crash : FaultEntry::Kind::Hang;
    options_.ledger->addFault({kind, item.op, kernels_, deviceClockNs()});
    options_.ledger->flush();
  }
  if (!crashes) hang();
  // The form of Metal's own assertions.
  std::fprintf(stderr,
               "-[HighwaterSimulatedCommandBuffer commit]: failed assertion `a crash was asked for "
               "at kernel %" PRIu64 ", %.*s'\n",
               kernels_, static_cast<int>(item.op.size()), item.op.data());
  std::abort();
}

void DeviceQueue::hang() {
  gate_.leave();
  {
    const std::lock_guard lock(mutex_);
    state_ = ThreadState::Hangs;
    signals_->targetReached.notify_all();
  }
  // The queue may be destroyed from here on.
  for (;;) ::pause();
}

void DeviceQueue::fail(std::string_view op, std::exception_ptr error) {
  const std::uint64_t position = runsInline() ? 0 : finished_.load() + 1;
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = JobFailure{std::string(op), std::move(error), position};
  hasFailed_.store(true, std::memory_order_release);
}

void DeviceQueue::account(const Item& item, std::uint64_t startNs, std::uint64_t endNs) {
  if (!options_.ledger || item.kind != JobKind::Kernel) return;
  options_.ledger->add(KernelEntry{item.op, item.enqueuedNs, startNs, endNs});
}

void DeviceQueue::wait() {
  commit();
  waitFor(submitted_.load());
}

void DeviceQueue::waitFor(std::uint64_t target) {
  if (runsInline() || isDeviceThread()) return;
  std::unique_lock lock(mutex_);
  waitUntilFinished(lock, target);
}

std::optional<JobFailure> DeviceQueue::drain() {
  wait();
  if (!hasFailed_.load(std::memory_order_acquire)) return std::nullopt;
  std::lock_guard lock(mutex_);
  hasFailed_.store(false, std::memory_order_release);
  return std::exchange(failure_, std::nullopt);
}

std::optional<JobFailure> DeviceQueue::drainUntil(const DeviceEvent& event) {
  const std::uint64_t position = event.position_.load();
  waitFor(position);
  if (!hasFailed_.load(std::memory_order_acquire)) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_ || failure_->position > position) return std::nullopt;
  }
  // Later jobs are being skipped, so this is short; they must not run on unwritten tensors.
  return drain();
}

void DeviceQueue::waitForNotice(const DeviceEvent& event) {
  if (notices_) notices_->wait(event);
}

std::uint64_t DeviceQueue::pending() const {
  const std::uint64_t finished = finished_.load();
  return submitted_.load() - finished;
}

void DeviceQueue::stop() {
  if (runsInline()) return;
  {
    std::unique_lock lock(mutex_);
    commitEncoded();
    stopping_ = true;
    signals_->work.notify_all();
    if (thread_.joinable()) {
      signals_->targetReached.wait(lock, [this] { return state_ != ThreadState::Runs; });
    }
    abandoned_.store(state_ == ThreadState::Hangs);
    state_ = state_ == ThreadState::Hangs ? state_ : ThreadState::Ended;
  }
  if (abandoned_.load()) {
    thread_.detach();
  } else if (thread_.joinable()) {
    thread_.join();
  }
  stopped_.store(true, std::memory_order_release);
}

// The thread was not forked. Its handle, condition variables and pending jobs are leaked: releasing
// a tensor may take locks that are not free yet.
void DeviceQueue::stopInChild() {
  if (thread_.joinable()) {
    lostJobs_ = pending() > 0;
    (void)new std::vector<Item>(std::move(items_));
    (void)new std::vector<Item>(std::move(encoded_));
    (void)new std::thread(std::move(thread_));
    (void)signals_.release();
    signals_ = std::make_unique<Signals>();
    items_.clear();
    encoded_.clear();
    finished_.store(submitted_.load());
    nextTarget_.store(kNobodyWaits);
    threadId_.store({});
    state_ = ThreadState::Ended;
    stopped_.store(true, std::memory_order_release);
  }
  mutex_.unlock();
}

}  // namespace highwater::simmps

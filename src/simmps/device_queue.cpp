#include "simmps/device_queue.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace highwater::simmps {
namespace {

// Set in a child process: the queue's thread did not survive the fork, and its mutex may be held by
// a thread that is gone.
std::atomic<bool> gForked{false};

void watchForks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { gForked.store(true, std::memory_order_relaxed); });
  (void)registered;
}

}  // namespace

bool DeviceEvent::done() const {
  return passed_.load() == recordings_.load();
}

std::uint64_t DeviceEvent::timeNs() const {
  return done() ? timeNs_.load() : 0;
}

DeviceQueue::DeviceQueue(Options options) : options_(std::move(options)) {
  watchForks();
}

DeviceQueue::~DeviceQueue() {
  stop();
}

bool DeviceQueue::runsInline() const {
  if (stopped_.load(std::memory_order_acquire)) return true;
  return gForked.load(std::memory_order_relaxed) && processId_ != 0 && processId_ != ::getpid();
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
  if (runsInline()) {
    run(item);
    return;
  }
  {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) start();
    if (submitted_ - finished_ >= options_.maxPending && !isDeviceThread()) {
      waitForRoom(lock, item.op);
      if (options_.ledger) item.enqueuedNs = deviceClockNs();
    }
    items_.push_back(std::move(item));
    ++submitted_;
  }
  work_.notify_one();
}

void DeviceQueue::waitForRoom(std::unique_lock<std::mutex>& lock, std::string_view op) {
  const std::uint64_t begin = deviceClockNs();
  waitUntilFinished(lock, submitted_ - options_.maxPending + 1);
  if (options_.ledger) {
    options_.ledger->add(DrainEntry{DrainCause::QueueFull, op, begin, deviceClockNs()});
  }
}

void DeviceQueue::start() {
  processId_ = ::getpid();
  thread_ = std::thread([this] {
    threadId_.store(std::this_thread::get_id());
    if (options_.scope) {
      options_.scope([this] { loop(); });
    } else {
      loop();
    }
  });
}

void DeviceQueue::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || !items_.empty(); });
    if (items_.empty()) return;
    Item item = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    run(item);
    // What the job holds is released before anybody learns that it is over.
    item = Item{};
    lock.lock();
    ++finished_;
    if (finished_ >= nextTarget_) {
      nextTarget_ = kNobodyWaits;
      targetReached_.notify_all();
    }
  }
}

void DeviceQueue::run(Item& item) {
  if (item.event) {
    pass(item);
    return;
  }
  if (hasFailed_.load(std::memory_order_acquire)) {
    account(item, 0, 0);
    return;
  }
  const std::uint64_t start = deviceClockNs();
  try {
    item.job();
  } catch (...) {
    fail(item.op, std::current_exception());
  }
  const std::uint64_t end = deviceClockNs();
  busyNs_.fetch_add(end - start, std::memory_order_relaxed);
  account(item, start, end);
}

void DeviceQueue::pass(Item& item) {
  const std::uint64_t now = deviceClockNs();
  item.event->timeNs_.store(now);
  item.event->passed_.store(item.recording);
  if (options_.ledger) options_.ledger->addEvent({item.enqueuedNs, now});
}

void DeviceQueue::account(const Item& item, std::uint64_t startNs, std::uint64_t endNs) {
  if (!options_.ledger || item.kind != JobKind::Kernel) return;
  options_.ledger->add(KernelEntry{item.op, item.enqueuedNs, startNs, endNs});
}

void DeviceQueue::fail(std::string_view op, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = JobFailure{std::string(op), std::move(error)};
  hasFailed_.store(true, std::memory_order_release);
}

void DeviceQueue::waitUntilFinished(std::unique_lock<std::mutex>& lock, std::uint64_t target) {
  while (finished_ < target) {
    nextTarget_ = std::min(nextTarget_, target);
    targetReached_.wait(lock);
  }
}

void DeviceQueue::wait() {
  if (runsInline() || isDeviceThread()) return;
  std::unique_lock lock(mutex_);
  waitUntilFinished(lock, submitted_);
}

std::optional<JobFailure> DeviceQueue::drain() {
  wait();
  if (!hasFailed_.load(std::memory_order_acquire)) return std::nullopt;
  std::lock_guard lock(mutex_);
  hasFailed_.store(false, std::memory_order_release);
  return std::exchange(failure_, std::nullopt);
}

std::uint64_t DeviceQueue::pending() const {
  std::lock_guard lock(mutex_);
  return submitted_ - finished_;
}

std::uint64_t DeviceQueue::submitted() const {
  std::lock_guard lock(mutex_);
  return submitted_;
}

void DeviceQueue::stop() {
  if (runsInline()) {
    // In a forked child there is no thread to join; the handle must not end the process.
    if (thread_.joinable() && !stopped_.load()) thread_.detach();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
  stopped_.store(true, std::memory_order_release);
}

}  // namespace highwater::simmps

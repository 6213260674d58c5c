#include "python/native/host_sampler.h"

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "core/messages.h"
#include "probe/stream/guest_thread.h"
#include "python/native/interpreter.h"

namespace highwater::python {
namespace {

/// Python may call onMainThread() after stop().
std::atomic<HostSampler*> sampling{nullptr};

// Passing the GIL takes 5 ms, unless a call into C keeps it; the end of a script waits no longer.
constexpr std::chrono::milliseconds kPassedWithin{100};
// A training that calls ops comes back from one sooner, and notices the call itself: for nothing.
// Passing the GIL costs it two switches of threads.
constexpr std::chrono::milliseconds kNoticedWithin{1};

}  // namespace

HostSampler::HostSampler(probe::Recorder& recorder, std::uint32_t hz)
    : recorder_(recorder), hz_(hz) {
  if (!noticesCalls()) {
    passer_ = probe::startGuestThread([this] { passWhenAsked(); }, [](const std::string&) {});
  }
  sampling.store(this, std::memory_order_release);
}

void HostSampler::forget() noexcept {
  HostSampler* expected = this;
  sampling.compare_exchange_strong(expected, nullptr);
}

void HostSampler::stop() {
  forget();
  if (!passer_.joinable()) return;
  std::unique_lock lock(mutex_);
  isStopping_ = true;
  wake_.notify_all();
  const bool hasEnded = wake_.wait_for(lock, kPassedWithin, [this] { return hasEnded_; });
  lock.unlock();
  hasEnded ? passer_.join() : passer_.detach();
}

void HostSampler::passWhenAsked() {
  std::unique_lock lock(mutex_);
  while (!isStopping_) {
    wake_.wait(lock, [this] { return isToPass_ || isStopping_; });
    if (!std::exchange(isToPass_, false)) continue;
    if (wake_.wait_for(lock, kNoticedWithin, [this] { return isStopping_; }) || !isAsked_) continue;
    lock.unlock();
    passGil();
    lock.lock();
  }
  hasEnded_ = true;
  wake_.notify_all();
}

void HostSampler::request(std::int64_t nowNs) {
  const probe::Recorder::Blocked blocked = recorder_.blocked();
  const bool isIdle = recorder_.paused() || recorder_.level() == events::ProbeLevel::Off;
  if (blocked.now || isIdle) return;
  (void)requests_.tryPush({nowNs, blocked.before, recorder_.step(), recorder_.phase()});
  if (!isAsked_.exchange(true) && !callOnMainThread(&HostSampler::onMainThread)) isAsked_ = false;
  if (!passer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    isToPass_ = true;
  }
  wake_.notify_all();
}

std::int64_t HostSampler::periodNs() const {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const bool areFirst = hz_ == kDefaultHostSampleHz && recorder_.step() >= kFirstSampledStep &&
                        firstTaken_.load(std::memory_order_relaxed) < kFirstHostSamples;
  return kNsPerSecond / (areFirst ? kFirstHostSampleHz : hz_);
}

int HostSampler::onMainThread(void*) noexcept {
  HostSampler* sampler = sampling.load(std::memory_order_acquire);
  if (!sampler) return 0;
  try {
    sampler->take();
  } catch (const std::exception&) {  // no memory: these moments have no sample
  }
  return 0;
}

void HostSampler::take() {
  isAsked_ = false;
  const bool trains = recorder_.hasLane() && recorder_.lane().id() == recorder_.trainingThread();
  const std::uint64_t blockedBefore = recorder_.blocked().before;
  std::optional<CallSiteId> site;
  requests_.drain([&](const Request& each) {
    if (!trains) return;
    CallSiteId at = kNoId;
    if (each.blockedBefore != blockedBefore) {
      // It has waited since, or run an op on the CPU, so it is at another line than it was. What
      // it copied first it had made just before, mostly at the same line:
      // features[rows].to(device).
      at = recorder_.copyAt(each.blockedBefore);
      if (at == kNoId) return;
    } else {
      if (!site) site = interruptedCallSite(recorder_.callSites());
      at = *site;
    }
    if (each.step >= kFirstSampledStep) firstTaken_.fetch_add(1, std::memory_order_relaxed);
    recorder_.record([&](std::int64_t) {
      return events::HostSample(each.timeNs, each.step, at, recorder_.lane().id(), each.phase);
    });
  });
}

}  // namespace highwater::python

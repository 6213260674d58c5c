#include "simmps/policy/event_notices.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/program_signals.h"
#include "simmps/policy/device_queue.h"
#include "simmps/policy/ledger.h"

namespace highwater::simmps {
namespace {

/// They take turns. Three, since events come in pairs: over three pairs each position gets each
/// delay once, so that the difference is right on average.
constexpr std::array<std::uint64_t, 3> kDelaysNs = {200'000, 50'000, 125'000};

}  // namespace

EventNotices::EventNotices(Ledger* ledger)
    : ledger_(ledger),
      fork_(ForkOrder::Notices,
            {[this] { mutex_.lock(); }, [this] { mutex_.unlock(); }, [this] { stopInChild(); }}) {}

EventNotices::~EventNotices() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    signals_->work.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void EventNotices::post(std::shared_ptr<DeviceEvent> event, std::uint64_t recording,
                        std::uint64_t recordedNs) {
  const std::lock_guard lock(mutex_);
  if (inChild_) return event->notice(recording, deviceClockNs());
  const std::uint64_t delay = kDelaysNs[posted_++ % kDelaysNs.size()];
  pending_.push_back({std::move(event), recording, recordedNs, deviceClockNs() + delay});
  if (!thread_.joinable()) {
    const BlockedProgramSignals inherited;
    thread_ = std::thread([this] { loop(); });
  }
  signals_->work.notify_one();
}

void EventNotices::wait(const DeviceEvent& event) {
  std::unique_lock lock(mutex_);
  signals_->delivered.wait(lock, [&event] { return event.isNoticed(); });
}

void EventNotices::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_ || !pending_.empty()) {
    if (pending_.empty()) {
      signals_->work.wait(lock);
      continue;
    }
    const auto next =
        std::min_element(pending_.begin(), pending_.end(),
                         [](const Notice& a, const Notice& b) { return a.dueNs < b.dueNs; });
    const std::uint64_t now = deviceClockNs();
    if (!stopping_ && next->dueNs > now) {
      signals_->work.wait_for(lock, std::chrono::nanoseconds(next->dueNs - now));
      continue;
    }
    next->event->notice(next->recording, now);
    if (ledger_) ledger_->addNotice({next->recordedNs, now});
    pending_.erase(next);
    signals_->delivered.notify_all();
  }
}

// The thread was not forked: its handle and the condition variables are leaked.
void EventNotices::stopInChild() {
  inChild_ = true;
  for (const Notice& each : pending_) each.event->notice(each.recording, deviceClockNs());
  pending_.clear();
  if (thread_.joinable()) (void)new std::thread(std::move(thread_));
  (void)signals_.release();
  signals_ = std::make_unique<Signals>();
  mutex_.unlock();
}

}  // namespace highwater::simmps

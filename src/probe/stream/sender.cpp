#include "probe/stream/sender.h"

#include <algorithm>
#include <string>

#include "probe/stream/guest_thread.h"

namespace highwater::probe {
namespace {

// Well below kMaxFrameBytes, also with the longest text behind the limit.
constexpr std::size_t kDefinitionBytesPerFrame = std::size_t{1} << 20;

}  // namespace

Sender::Sender(Recorder& recorder, FrameWriter& writer, Options options)
    : recorder_(recorder), writer_(writer), options_(options), callSites_(recorder.callSites()) {}

Sender::~Sender() {
  stop();
}

void Sender::start() {
  thread_ = startGuestThread([this] { run(); },
                             [this](const std::string& why) { writer_.breakOff(why); });
}

void Sender::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Sender::run() {
  auto next = std::chrono::steady_clock::now();
  while (true) {
    next = std::max(next + options_.drainEvery, std::chrono::steady_clock::now());
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_until(lock, next, [this] { return stopping_; });
      last = stopping_;
    }
    sendOnce();
    if (writer_.hostGone()) return;
    if (last) return sendLast();
  }
}

void Sender::sendLast() {
  const auto limit = std::chrono::steady_clock::now() + options_.symbolizeFor;
  while (callSites_.isBusy() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(options_.drainEvery);
    sendOnce();
    if (writer_.hostGone()) return;
  }
  callSites_.finish();
  // Sends the samples that were later than the completeUpToNs of the previous round.
  sendOnce();
}

void Sender::sendOnce() {
  recorder_.lookAtClock();
  const std::int64_t completeUpTo = drainLanes();
  // After draining: an event's names and modules are defined before it is pushed. Its call site has
  // only an id at that time.
  recorder_.callSites().noticeUnloads();
  callSites_.lookUpNew();
  if (!sendDefinitions()) return;
  const auto isSent = [this](CallSiteId id) {
    return id <= kOtherId || (id < sentCallSites_.size() && sentCallSites_[id]);
  };
  collector_.flush(completeUpTo, isSent, [this](const EventBatch& batch) {
    if (!writer_.send(batch)) return;  // the writer reports that the host is gone
  });
}

bool Sender::sendDefinitions() {
  while (true) {
    Definitions definitions;
    bool more = recorder_.names().takeNew(definitions, kDefinitionBytesPerFrame);
    more = recorder_.modules().takeNew(definitions, kDefinitionBytesPerFrame) || more;
    more = callSites_.takeReady(definitions, kDefinitionBytesPerFrame) || more;
    if (!definitions.empty() && !writer_.send(definitions)) return false;
    for (const CallSiteDefinition& each : definitions.callSites) {
      if (each.id >= sentCallSites_.size()) sentCallSites_.resize(each.id + 1);
      sentCallSites_[each.id] = true;
    }
    if (!more) return true;
  }
}

std::int64_t Sender::drainLanes() {
  const std::int64_t nowNs = recorder_.now();
  orderTicks();
  const auto lanes = recorder_.lanes();
  std::int64_t complete = nowNs;
  for (const auto& lane : lanes) complete = std::min(complete, lane->completeUpTo(nowNs));

  const bool heartbeat = nowNs - lastHeartbeatNs_ >= options_.heartbeatEvery.count();
  for (const auto& lane : lanes) {
    const bool abandoned = lane->abandoned();
    lane->drain([this](const EventRecord& record) { collector_.add(record); });
    collectDrops(*lane);
    if (heartbeat) collectOpenSpans(*lane, nowNs);
    if (abandoned) recorder_.forget(lane.get());
  }
  if (heartbeat) {
    collector_.add(
        events::Heartbeat(nowNs, recorder_.step(), static_cast<std::uint8_t>(recorder_.paused())));
    lastHeartbeatNs_ = nowNs;
  }
  completeUpToNs_ = std::max(completeUpToNs_, complete);
  return completeUpToNs_;
}

void Sender::collectDrops(ThreadLane& lane) {
  forEachEventType([&]<typename Event>(std::type_identity<Event>) {
    constexpr events::EventKind kKind = EventTraits<Event>::kKind;
    if (const std::uint64_t count = lane.takeDrops(kKind)) {
      collector_.add(events::DropRecord(recorder_.now(), count, kKind));
    }
  });
}

void Sender::collectOpenSpans(const ThreadLane& lane, std::int64_t nowNs) {
  OpenSpanStack::Views views;
  const std::uint32_t depth = lane.openSpans().read(views, nowNs - options_.openSpanAfter.count());
  for (std::uint32_t i = 0; i < depth; ++i) {
    // An open span belongs to the running step and phase: it would have ended with an earlier one.
    collector_.add(events::OpenSpan(views[i].beginNs, nowNs, recorder_.step(), views[i].name,
                                    lane.id(), static_cast<std::uint16_t>(i), recorder_.phase()));
  }
}

}  // namespace highwater::probe

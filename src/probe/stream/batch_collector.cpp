#include "probe/stream/batch_collector.h"

#include <algorithm>
#include <utility>

namespace highwater::probe {
namespace {

template <typename Event>
using Count = std::size_t;

/// Makes `part` the events of `all` from `next` on, as many as `room` bytes hold.
template <typename T>
void fill(std::span<const T>& part, const std::vector<T>& all, std::size_t& next,
          std::size_t& room) {
  const std::size_t count = std::min(all.size() - next, room / sizeof(T));
  part = std::span<const T>(all).subspan(next, count);
  next += count;
  room -= count * sizeof(T);
}

/// Moves the first event for which `waits` is true, and all events behind it, out of `all`.
template <typename T, typename Waits>
std::vector<T> takeFromFirst(std::vector<T>& all, Waits&& waits) {
  const auto first = std::find_if(all.begin(), all.end(), waits);
  std::vector<T> taken(first, all.end());
  all.erase(first, all.end());
  return taken;
}

template <typename T>
std::int64_t firstEnd(const std::vector<T>& events, std::int64_t limitNs) {
  for (const T& e : events) limitNs = std::min(limitNs, endNsOf(e));
  return limitNs;
}

}  // namespace

void BatchCollector::add(const EventRecord& record) {
  record.visit([this](const auto& event) { add(event); });
}

std::vector<events::MemorySample> BatchCollector::takeLaterSamples(std::int64_t completeUpToNs) {
  auto& samples = events_.memorySamples;
  std::stable_sort(samples.begin(), samples.end(),
                   [](const auto& a, const auto& b) { return a.time_ns() < b.time_ns(); });
  return takeFromFirst(samples,
                       [completeUpToNs](const auto& e) { return e.time_ns() > completeUpToNs; });
}

void BatchCollector::flush(std::int64_t completeUpToNs,
                           const std::function<bool(CallSiteId)>& isDefined,
                           const std::function<void(const EventBatch&)>& send) {
  const auto waits = [&isDefined](const auto& e) { return !isDefined(e.call_site()); };
  // The last step of a script ends on its main thread, whichever trained.
  std::stable_sort(events_.steps.begin(), events_.steps.end(),
                   [](const auto& a, const auto& b) { return a.step() < b.step(); });
  auto laterSamples = takeLaterSamples(completeUpToNs);
  auto waitingSyncs = takeFromFirst(events_.syncPoints, waits);
  auto waitingFallbacks = takeFromFirst(events_.fallbacks, waits);
  auto waitingHostSamples = takeFromFirst(events_.hostSamples, waits);
  auto waitingOpWork = takeFromFirst(events_.opWork, waits);
  completeUpToNs = firstEnd(waitingFallbacks, firstEnd(waitingSyncs, completeUpToNs));
  completeUpToNs = std::max(completeUpToNs, sentUpToNs_);

  PerEventKind<Count> taken;
  std::size_t left = events_.size();
  while (left > 0) {
    EventBatch batch;
    std::size_t room = kMaxBatchBytes;
    forEachEventType([&]<typename Event>(std::type_identity<Event>) {
      fill(batch.of<Event>(), events_.of<Event>(), taken.of<Event>(), room);
    });
    // Only the last batch makes the stream complete up to the new time.
    left -= batch.size();
    const bool last = left == 0;
    batch.completeUpToNs = last ? completeUpToNs : sentUpToNs_;
    send(batch);
    if (last) sentUpToNs_ = completeUpToNs;
  }
  events_.forEachKind([](auto& events) { events.clear(); });
  events_.memorySamples = std::move(laterSamples);
  events_.syncPoints = std::move(waitingSyncs);
  events_.fallbacks = std::move(waitingFallbacks);
  events_.hostSamples = std::move(waitingHostSamples);
  events_.opWork = std::move(waitingOpWork);
}

}  // namespace highwater::probe

#include "probe/batch_collector.h"

#include <algorithm>
#include <iterator>

namespace highwater::probe {
namespace {

/// Moves events from the front of `all` (from `next` on) into `part`, as many as `room` bytes hold.
template <typename T>
void fill(std::span<const T>& part, const std::vector<T>& all, std::size_t& next,
          std::size_t& room) {
  const std::size_t count = std::min(all.size() - next, room / sizeof(T));
  part = std::span<const T>(all).subspan(next, count);
  next += count;
  room -= count * sizeof(T);
}

/// Moves the first event that waits, and what was added behind it, out of `all`.
template <typename T, typename Waits>
std::vector<T> takeFromFirst(std::vector<T>& all, Waits&& waits) {
  const auto first = std::find_if(all.begin(), all.end(), waits);
  std::vector<T> taken(first, all.end());
  all.erase(first, all.end());
  return taken;
}

template <typename T>
std::int64_t firstEnd(const std::vector<T>& events, std::int64_t limitNs) {
  for (const T& e : events) limitNs = std::min(limitNs, e.begin_ns() + e.duration_ns());
  return limitNs;
}

template <typename... Vectors>
void clearAll(Vectors&... vectors) {
  (vectors.clear(), ...);
}

}  // namespace

void BatchCollector::add(const EventRecord& record) {
  struct Add {
    BatchCollector& to;
    void operator()(const events::MemorySample& e) { to.memorySamples_.push_back(e); }
    void operator()(const events::SystemSample& e) { to.systemSamples_.push_back(e); }
    void operator()(const events::StepRecord& e) { to.steps_.push_back(e); }
    void operator()(const events::PhaseSpan& e) { to.phases_.push_back(e); }
    void operator()(const events::SyncPoint& e) { to.syncPoints_.push_back(e); }
    void operator()(const events::FallbackEvent& e) { to.fallbacks_.push_back(e); }
    void operator()(const events::Marker& e) { to.markers_.push_back(e); }
    void operator()(const events::Evaluation& e) { to.evaluations_.push_back(e); }
    void operator()(const events::DeviceSpan& e) { to.deviceSpans_.push_back(e); }
    void operator()(const events::OpSpan& e) { to.ops_.push_back(e); }
    void operator()(const events::PhaseMemory& e) { to.phaseMemory_.push_back(e); }
  };
  record.visit(Add{*this});
}

std::vector<events::MemorySample> BatchCollector::takeLaterSamples(std::int64_t completeUpToNs) {
  std::stable_sort(memorySamples_.begin(), memorySamples_.end(),
                   [](const auto& a, const auto& b) { return a.time_ns() < b.time_ns(); });
  return takeFromFirst(memorySamples_,
                       [completeUpToNs](const auto& e) { return e.time_ns() > completeUpToNs; });
}

std::size_t BatchCollector::size() const {
  return memorySamples_.size() + systemSamples_.size() + steps_.size() + phases_.size() +
         syncPoints_.size() + fallbacks_.size() + markers_.size() + evaluations_.size() +
         openSpans_.size() + heartbeats_.size() + drops_.size() + deviceSpans_.size() +
         ops_.size() + phaseMemory_.size();
}

void BatchCollector::flush(std::int64_t completeUpToNs,
                           const std::function<bool(CallSiteId)>& isDefined,
                           const std::function<void(const EventBatch&)>& send) {
  const auto waits = [&isDefined](const auto& e) { return !isDefined(e.call_site()); };
  Waiting waiting{takeLaterSamples(completeUpToNs), takeFromFirst(syncPoints_, waits),
                  takeFromFirst(fallbacks_, waits)};
  completeUpToNs = firstEnd(waiting.fallbacks, firstEnd(waiting.syncPoints, completeUpToNs));
  completeUpToNs = std::max(completeUpToNs, sentUpToNs_);
  std::size_t memory = 0, system = 0, steps = 0, phases = 0, syncs = 0, fallbacks = 0, markers = 0,
              evaluations = 0, open = 0, heartbeats = 0, drops = 0, deviceSpans = 0, ops = 0,
              phaseMemory = 0;
  std::size_t left = size();
  while (left > 0) {
    EventBatch batch;
    std::size_t room = kMaxEventBytes;
    fill(batch.steps, steps_, steps, room);
    fill(batch.deviceSpans, deviceSpans_, deviceSpans, room);
    fill(batch.phaseMemory, phaseMemory_, phaseMemory, room);
    fill(batch.markers, markers_, markers, room);
    fill(batch.evaluations, evaluations_, evaluations, room);
    fill(batch.fallbacks, fallbacks_, fallbacks, room);
    fill(batch.heartbeats, heartbeats_, heartbeats, room);
    fill(batch.drops, drops_, drops, room);
    fill(batch.phases, phases_, phases, room);
    fill(batch.syncPoints, syncPoints_, syncs, room);
    fill(batch.openSpans, openSpans_, open, room);
    fill(batch.systemSamples, systemSamples_, system, room);
    fill(batch.memorySamples, memorySamples_, memory, room);
    fill(batch.ops, ops_, ops, room);
    // Only the last part makes the stream complete up to the new time.
    left -= batch.size();
    const bool last = left == 0;
    batch.completeUpToNs = last ? completeUpToNs : sentUpToNs_;
    send(batch);
    if (last) sentUpToNs_ = completeUpToNs;
  }
  clearAll(memorySamples_, systemSamples_, steps_, phases_, syncPoints_, fallbacks_, markers_,
           evaluations_, openSpans_, heartbeats_, drops_, deviceSpans_, ops_, phaseMemory_);
  memorySamples_ = std::move(waiting.memorySamples);
  syncPoints_ = std::move(waiting.syncPoints);
  fallbacks_ = std::move(waiting.fallbacks);
}

}  // namespace highwater::probe

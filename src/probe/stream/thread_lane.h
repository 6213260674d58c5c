#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "core/ids.h"
#include "probe/observer/module_stack.h"
#include "probe/stream/event_record.h"
#include "probe/stream/open_spans.h"
#include "probe/stream/spsc_ring.h"
#include "probe/stream/tick_source.h"

namespace highwater::probe {

/// The queue of one thread's events on their way to the sender, and the thread's open spans and
/// modules. The owning thread pushes, the sender thread drains.
class ThreadLane {
 public:
  /// The capacity of each of the lane's rings, in events.
  struct Sizes {
    std::size_t kept = 1024;  ///< events that must not be lost; the rest overflows into a vector
    std::size_t droppable = 4096;
    std::size_t ops = 32768;  ///< 20 ms of ops of 600 ns each
  };

  /// Makes the lane of thread `id` with the default sizes.
  explicit ThreadLane(ThreadId id) : ThreadLane(id, Sizes()) {}
  /// Makes the lane of thread `id` with the given sizes.
  ThreadLane(ThreadId id, Sizes sizes)
      : id_(id), sizes_(sizes), kept_(sizes.kept), droppable_(sizes.droppable) {}
  ~ThreadLane() { delete ops_.load(std::memory_order_relaxed); }

  [[nodiscard]] ThreadId id() const { return id_; }

  /// Adds an event. An event that must not be lost is always kept, in order. A droppable event is
  /// counted and dropped if its ring is full. Owning thread only.
  void push(const EventRecord& event) noexcept;
  /// Adds OpSpan(fields...) to a ring of its own, created at the first op, so that many ops never
  /// displace memory samples. Counts and drops it if that ring is full. Owning thread only.
  template <typename... Fields>
  void pushOp(Fields... fields);

  /// Begins to record an event whose time is read after this call. Until endWrite() the sender must
  /// not report any time after `nowNs` as complete. Owning thread only.
  void beginWrite(std::int64_t nowNs) {
    writingSince_.store(nowNs, std::memory_order_seq_cst);
    orderTicks();
  }
  /// Begins to record an op, as beginWrite() does for other events, but without a fence, which
  /// would be a large part of the cost of recording an op. The sender may see the store some
  /// hundred nanoseconds late, so an op may end that much before a time that was reported as
  /// complete. Owning thread only.
  void beginOpWrite(std::int64_t nowNs) { writingSince_.store(nowNs, std::memory_order_relaxed); }
  /// Ends what beginWrite() or beginOpWrite() began. A sender that sees this also sees the event in
  /// its ring (release). Owning thread only.
  void endWrite() { writingSince_.store(kNotWriting, std::memory_order_release); }

  /// The open spans of the thread. Only the owning thread may push and pop.
  [[nodiscard]] OpenSpanStack& openSpans() { return openSpans_; }
  /// The open spans of the thread. Any thread may read them.
  [[nodiscard]] const OpenSpanStack& openSpans() const { return openSpans_; }

  /// The stack of modules that the thread runs. Owning thread only.
  [[nodiscard]] ModuleStack& modules() { return modules_; }

  /// Notes that the thread ends; the sender forgets the lane once it is drained. Owning thread
  /// only.
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  /// Returns true once the thread has called abandon(). Any thread.
  [[nodiscard]] bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

  /// Returns the time before which all events of this lane have been pushed, in nanoseconds since
  /// the run's epoch. `nowNs` is the current time, read before an orderTicks(). Sender thread only.
  [[nodiscard]] std::int64_t completeUpTo(std::int64_t nowNs) const {
    const std::int64_t since = writingSince_.load(std::memory_order_seq_cst);
    return since == kNotWriting ? nowNs : std::min(nowNs, since);
  }
  /// Removes all events and calls f(event) for each. Sender thread only.
  template <typename F>
  void drain(F&& f);
  /// Returns the number of events of `kind` that were dropped since the last call. Sender thread
  /// only.
  [[nodiscard]] std::uint64_t takeDrops(events::EventKind kind) {
    return drops_[static_cast<std::size_t>(kind)].exchange(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t kNotWriting = INT64_MAX;

  [[nodiscard]] SpscRing<events::OpSpan>* makeOpRing() {
    auto* ops = std::make_unique<SpscRing<events::OpSpan>>(sizes_.ops).release();
    ops_.store(ops, std::memory_order_release);
    return ops;
  }

  ThreadId id_;
  Sizes sizes_;
  SpscRing<EventRecord> kept_;
  SpscRing<EventRecord> droppable_;
  std::atomic<SpscRing<events::OpSpan>*> ops_{nullptr};
  // Used only while kept_ is full.
  std::mutex overflowMutex_;
  std::vector<EventRecord> overflow_;
  std::atomic<bool> overflowing_{false};

  std::array<std::atomic<std::uint64_t>, kEventKinds + 1> drops_{};
  std::atomic<std::int64_t> writingSince_{kNotWriting};
  std::atomic<bool> abandoned_{false};
  OpenSpanStack openSpans_;
  ModuleStack modules_;
};

inline void ThreadLane::push(const EventRecord& event) noexcept {
  if (isDroppable(event.kind())) {
    if (!droppable_.tryPush(event)) {
      drops_[static_cast<std::size_t>(event.kind())].fetch_add(1, std::memory_order_relaxed);
    }
    return;
  }
  // Later events must not overtake those that overflowed.
  if (!overflowing_.load(std::memory_order_acquire) && kept_.tryPush(event)) return;
  try {
    const std::lock_guard lock(overflowMutex_);
    overflow_.push_back(event);
    overflowing_.store(true, std::memory_order_release);
  } catch (const std::exception&) {  // no memory: this may be in a destructor, or in the user's op
    drops_[static_cast<std::size_t>(event.kind())].fetch_add(1, std::memory_order_relaxed);
  }
}

template <typename... Fields>
void ThreadLane::pushOp(Fields... fields) {
  SpscRing<events::OpSpan>* ops = ops_.load(std::memory_order_relaxed);
  if (!ops) [[unlikely]]
    ops = makeOpRing();
  if (!ops->tryEmplace(fields...)) [[unlikely]] {
    drops_[static_cast<std::size_t>(events::EventKind::OpSpan)].fetch_add(
        1, std::memory_order_relaxed);
  }
}

template <typename F>
void ThreadLane::drain(F&& f) {
  if (auto* ops = ops_.load(std::memory_order_acquire)) {
    ops->drain([&f](const events::OpSpan& op) { f(EventRecord(op)); });
  }
  droppable_.drain(f);
  if (!overflowing_.load(std::memory_order_acquire)) {
    kept_.drain(f);
    return;
  }
  // While overflowing_ is set, the owner does not push into the ring, so the ring's events come
  // first.
  const std::lock_guard lock(overflowMutex_);
  kept_.drain(f);
  for (const EventRecord& event : overflow_) f(event);
  overflow_.clear();
  overflowing_.store(false, std::memory_order_release);
}

}  // namespace highwater::probe

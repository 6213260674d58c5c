#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/ids.h"
#include "probe/event_record.h"
#include "probe/module_stack.h"
#include "probe/open_spans.h"
#include "probe/spsc_ring.h"
#include "probe/tick_source.h"

namespace highwater::probe {

/// What one thread of the measured process leaves for the sender: its queues and open spans.
/// The owner pushes, the sender drains.
class ThreadLane {
 public:
  struct Sizes {
    std::size_t vital = 1024;
    std::size_t bulk = 4096;
    std::size_t ops = 32768;  ///< 20 ms at an op each 600 ns
  };

  explicit ThreadLane(ThreadId id) : ThreadLane(id, Sizes()) {}
  ThreadLane(ThreadId id, Sizes sizes)
      : id_(id), sizes_(sizes), vital_(sizes.vital), bulk_(sizes.bulk) {}
  ~ThreadLane() { delete ops_.load(std::memory_order_relaxed); }

  [[nodiscard]] ThreadId id() const { return id_; }

  /// Owner. Vital events always arrive, in order; of the others the ones that find the ring full
  /// are counted and lost.
  void push(const EventRecord& event);
  /// Owner. Ops have a queue of their own, made at the first: they are the first to be lost under
  /// load, and no sample with them.
  template <typename... Fields>
  void pushOp(Fields... fields);

  /// Owner. Between begin and end an event gets its time, from a look at the clock after this call,
  /// and is pushed: until then the sender must not call anything after `nowNs` complete.
  void beginWrite(std::int64_t nowNs) {
    writingSince_.store(nowNs, std::memory_order_seq_cst);
    orderTicks();
  }
  /// The same for an op: the store may be seen some hundred nanoseconds after the look at the
  /// clock, and the op's end then lie that much before a time that was called complete. Keeping
  /// their order would be a good part of what recording an op costs.
  void beginOpWrite(std::int64_t nowNs) { writingSince_.store(nowNs, std::memory_order_relaxed); }
  // Released after the event: who sees this finds the event in its queue.
  void endWrite() { writingSince_.store(kNotWriting, std::memory_order_release); }

  [[nodiscard]] OpenSpanStack& openSpans() { return openSpans_; }
  [[nodiscard]] const OpenSpanStack& openSpans() const { return openSpans_; }

  /// Owner only.
  [[nodiscard]] ModuleStack& modules() { return modules_; }

  /// The owner will not come back; the lane can go once it is empty.
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  [[nodiscard]] bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

  /// Sender. The time that nothing is missing before, given that it is `nowNs`, with orderTicks()
  /// after the look at the clock.
  [[nodiscard]] std::int64_t completeUpTo(std::int64_t nowNs) const {
    const std::int64_t since = writingSince_.load(std::memory_order_seq_cst);
    return since == kNotWriting ? nowNs : std::min(nowNs, since);
  }
  /// Sender. Calls f(event) for all that is there.
  template <typename F>
  void drain(F&& f);
  /// Sender. How many events of `kind` were lost since the last call.
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
  SpscRing<EventRecord> vital_;
  SpscRing<EventRecord> bulk_;
  std::atomic<SpscRing<events::OpSpan>*> ops_{nullptr};
  // Used only while the sender is far behind.
  std::mutex overflowMutex_;
  std::vector<EventRecord> overflow_;
  std::atomic<bool> overflowing_{false};

  std::array<std::atomic<std::uint64_t>, kEventKinds> drops_{};
  std::atomic<std::int64_t> writingSince_{kNotWriting};
  std::atomic<bool> abandoned_{false};
  OpenSpanStack openSpans_;
  ModuleStack modules_;
};

inline void ThreadLane::push(const EventRecord& event) {
  if (!isVital(event.kind())) {
    if (!bulk_.tryPush(event)) {
      drops_[static_cast<std::size_t>(event.kind())].fetch_add(1, std::memory_order_relaxed);
    }
    return;
  }
  // Once something overflowed, what follows must queue up behind it.
  if (!overflowing_.load(std::memory_order_acquire) && vital_.tryPush(event)) return;
  const std::lock_guard lock(overflowMutex_);
  overflow_.push_back(event);
  overflowing_.store(true, std::memory_order_release);
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
  bulk_.drain(f);
  if (!overflowing_.load(std::memory_order_acquire)) {
    vital_.drain(f);
    return;
  }
  // While overflowing_ is set the owner pushes nothing into the ring, so ring first keeps the
  // order.
  const std::lock_guard lock(overflowMutex_);
  vital_.drain(f);
  for (const EventRecord& event : overflow_) f(event);
  overflow_.clear();
  overflowing_.store(false, std::memory_order_release);
}

}  // namespace highwater::probe

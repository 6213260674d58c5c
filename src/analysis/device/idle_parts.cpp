#include "analysis/device/idle_parts.h"

#include <algorithm>

#include "core/units.h"

namespace highwater::analysis {
namespace {

/// Whether this work never queues anything.
bool queuesNothing(HostWork work) {
  return work == HostWork::BatchAssembly || work == HostWork::DeviceMove ||
         work == HostWork::Fallback;
}

}  // namespace

std::pair<std::size_t, std::size_t> queueingSpans(const Stretch& stretch) {
  const auto range = [&stretch](auto&& queues) {
    const auto& work = stretch.work;
    const auto first = std::find_if(work.begin(), work.end(), queues);
    const auto last = std::find_if(work.rbegin(), work.rend(), queues);
    return std::pair(static_cast<std::size_t>(first - work.begin()),
                     static_cast<std::size_t>(work.rend() - last));
  };
  const auto is = [&](HostWork which) {
    return range([which](const HostSpan& span) { return span.work == which; });
  };
  const auto none = std::pair(stretch.work.size(), std::size_t{0});
  if (const auto found = is(HostWork::Queueing); found != none) return found;
  // A run without phases; or values read between steps, which must have been queued there.
  if (const auto found = is(HostWork::InStep); found != none && stretch.closing.readsValues) {
    return found;
  }
  if (!stretch.closing.readsValues) return none;
  return range([](const HostSpan& span) { return !queuesNothing(span.work); });
}

WorkStart workStartOf(const LiveStore& store) {
  return store.hello() ? store.hello()->workStart : WorkStart::kUnknown;
}

bool knowsPasses(const LiveStore& store) {
  return std::any_of(store.phases().begin(), store.phases().end(), [](const auto& each) {
    return each.phase() == events::Phase::Forward || each.phase() == events::Phase::Backward;
  });
}

IdleRules::IdleRules(const LiveStore& store, const DeviceEnds& ends, std::int64_t medianSpanNs,
                     bool emptyWaits)
    : ends_(ends),
      hasPhases_(!store.phases().empty()),
      workStart_(workStartOf(store)),
      medianSpanNs_(medianSpanNs),
      emptyWaits_(emptyWaits) {}

bool IdleRules::mayBeDeferred(const Stretch& stretch, std::int64_t sinceNs,
                              const HostSpan& span) const {
  return workStart_ != WorkStart::kEager &&
         !ends_.commits(stretch.work.front().row, span.row, sinceNs, span.beginNs);
}

/// In a run with phases, a step queues ops only in them.
bool IdleRules::surelyQueuesNothing(HostWork work) const {
  const bool outside = work == HostWork::InStep || work == HostWork::BetweenSteps;
  return queuesNothing(work) || (outside && hasPhases_);
}

void IdleRules::apply(const Stretch& stretch, const Note& note) const {
  addWork(stretch, note);
  if (emptyWaits_) addEmptyWait(stretch, note);
}

void IdleRules::addWork(const Stretch& stretch, const Note& note) const {
  const auto [first, last] = queueingSpans(stretch);
  const bool none = first >= last;
  const std::size_t head = none ? stretch.work.size() : first;
  addHead(stretch.work.first(head), none && stretch.closing.ns() > kNearZeroWaitNs, note);
  if (none) {
    addCommit(stretch, note);
    return;
  }
  const HostSpan& lastQueued = stretch.work[last - 1];
  const End end = deviceEnd(stretch, lastQueued);
  const bool starved = end.ns - lastQueued.endNs <= kNearZeroWaitNs;
  for (const HostSpan& span : stretch.work.subspan(first, last - first)) {
    const double ms = toMs(span.ns());
    const bool waits =
        workStart_ == WorkStart::kDeferred && mayBeDeferred(stretch, stretch.opening.endNs, span);
    const double share = waits ? 1 : starved ? 0.5 : 0;
    note({span, {0, ms * share, ms}, span.beginNs, span.endNs, share});
  }
  addTail(stretch, last, end, note);
  // The device finished long before the wait, so the reason of the wait is unknown.
  const Drain& closing = stretch.closing;
  const bool idleInWait = end.ns < closing.beginNs && end.ns > lastQueued.endNs;
  if (idleInWait) {
    note({stretch.work.back(), {0, 0, toMs(closing.ns())}, closing.beginNs, closing.endNs, 0});
  } else {
    addCommit(stretch, note);
  }
}

void IdleRules::addEmptyWait(const Stretch& stretch, const Note& note) const {
  const std::int64_t ns = ends_.emptyWaitNs(stretch);
  if (ns == 0 || stretch.work.empty()) return;
  const Drain& closing = stretch.closing;
  note({stretch.work.back(), {0, toMs(ns), toMs(ns)}, closing.endNs - ns, closing.endNs, 1});
}

/// Where work may be deferred, it is committed only in the wait: until the host gets there and the
/// command buffer has been scheduled, the device may be idle.
void IdleRules::addCommit(const Stretch& stretch, const Note& note) const {
  if (workStart_ == WorkStart::kEager || stretch.work.empty()) return;
  const Drain& closing = stretch.closing;
  const std::int64_t longestNs = std::min(closing.ns(), kNearZeroWaitNs);
  note({stretch.work.back(), {0, 0, toMs(longestNs)}, closing.beginNs, closing.beginNs, 0});
}

/// The part before the first queued op. `queuedUnseen`: a wait shows that something was queued.
void IdleRules::addHead(std::span<const HostSpan> work, bool queuedUnseen, const Note& note) const {
  bool sure = true;
  for (const HostSpan& span : work) {
    sure = sure && surelyQueuesNothing(span.work);
    const double ms = toMs(span.ns());
    const bool busy = !sure && queuedUnseen && workStart_ != WorkStart::kDeferred;
    note({span, {sure ? ms : 0, busy ? 0 : ms, ms}, span.beginNs, span.endNs, busy ? 0.0 : 1.0});
  }
}

IdleRules::End IdleRules::deviceEnd(const Stretch& stretch, const HostSpan& last) const {
  if (const auto known = ends_.of(stretch, last)) return {*known, true};
  const std::int64_t thoughtNs = stretch.work.front().beginNs + medianSpanNs_;
  return {std::clamp(thoughtNs, last.endNs, std::max(last.endNs, stretch.closing.endNs)), false};
}

/// The part after the last queued op, while the device works. Where work may be deferred, it begins
/// only with the next commit.
void IdleRules::addTail(const Stretch& stretch, std::size_t from, const End& end,
                        const Note& note) const {
  bool sure = end.sure;
  const std::int64_t queuedNs = stretch.work[from - 1].endNs;
  const auto tail = stretch.work.subspan(from);
  // What is queued unseen, as by an evaluation, may be all that the host waits for.
  const bool mayQueue = std::any_of(tail.begin(), tail.end(), [this](const HostSpan& span) {
    return !surelyQueuesNothing(span.work);
  });
  for (const HostSpan& span : tail) {
    sure = sure && surelyQueuesNothing(span.work);
    const bool open = mayBeDeferred(stretch, queuedNs, span);
    const bool waits = open && workStart_ == WorkStart::kDeferred;
    const std::int64_t busyUntilNs = waits ? span.beginNs : end.ns;
    const std::int64_t fromNs = std::min(std::max(busyUntilNs, span.beginNs), span.endNs);
    const double idle = toMs(span.endNs - fromNs);
    const double certain = toMs(span.endNs - std::clamp(end.ns, span.beginNs, span.endNs));
    const double most = end.sure && !open && !mayQueue ? idle : toMs(span.ns());
    note({span, {sure ? certain : 0, idle, most}, fromNs, span.endNs, 1});
  }
}

}  // namespace highwater::analysis

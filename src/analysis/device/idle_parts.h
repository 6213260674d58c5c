#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "analysis/device/idle_estimate.h"

namespace highwater::analysis {

/// What the estimate says about one span of host work: how long the device was idle in it, and
/// where the probable idle time lies. Times are in ns since the start of the run.
struct IdlePart {
  const HostSpan& span;
  IdleTime idle;  ///< in ms
  /// The probable idle time lies in [beginNs, endNs). Of it the device is idle for `share`: 1, or
  /// less where it is only known that it kept up with the host.
  std::int64_t beginNs = 0, endNs = 0;
  double share = 0;
};

/// When the device of this run starts its work: Hello's answer, or unknown.
[[nodiscard]] WorkStart workStartOf(const LiveStore& store);

/// Whether the run's forward or backward passes are known, so that what lies outside of phases is
/// the host's other work.
[[nodiscard]] bool knowsPasses(const LiveStore& store);

/// The range [first, last) of the spans of a stretch in which the host certainly queued something;
/// empty (first >= last) if there are none.
[[nodiscard]] std::pair<std::size_t, std::size_t> queueingSpans(const Stretch& stretch);

/// Applies the rules of estimateIdle() to one stretch of host work after the other.
class IdleRules {
 public:
  /// For steps of `store`, of which only Hello and whether it has phases are used. `ends` must
  /// outlive it. `medianSpanNs` is the device span that is assumed where the device's end is
  /// unknown. `emptyWaits`: whether waits for next to nothing are idle time, which depends on the
  /// other waits of the same timeline.
  IdleRules(const LiveStore& store, const DeviceEnds& ends, std::int64_t medianSpanNs,
            bool emptyWaits = true);

  /// Calls note(part) for the spans of a stretch in which the device may have been idle, in order
  /// of time; what lies in the wait at its end may follow as further parts of the last span.
  void apply(const Stretch& stretch, const std::function<void(const IdlePart&)>& note) const;

 private:
  /// The time at which the device finished. `sure`: measured; else it may be as early as the end of
  /// the last queueing span.
  struct End {
    std::int64_t ns = 0;
    bool sure = false;
  };
  using Note = std::function<void(const IdlePart&)>;

  [[nodiscard]] bool surelyQueuesNothing(HostWork work) const;
  [[nodiscard]] End deviceEnd(const Stretch& stretch, const HostSpan& last) const;
  void addWork(const Stretch& stretch, const Note& note) const;
  void addHead(std::span<const HostSpan> work, bool queuedUnseen, const Note& note) const;
  void addTail(const Stretch& stretch, std::size_t from, const End& end, const Note& note) const;
  void addCommit(const Stretch& stretch, const Note& note) const;
  void addEmptyWait(const Stretch& stretch, const Note& note) const;
  /// Whether what was queued at `sinceNs` in the stretch may wait for a commit when the span
  /// begins.
  [[nodiscard]] bool mayBeDeferred(const Stretch& stretch, std::int64_t sinceNs,
                                   const HostSpan& span) const;

  const DeviceEnds& ends_;
  bool hasPhases_;
  WorkStart workStart_;
  std::int64_t medianSpanNs_;
  bool emptyWaits_;
};

}  // namespace highwater::analysis

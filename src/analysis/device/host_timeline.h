#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/time_range.h"

namespace highwater::analysis {

/// What the host does while it is not waiting for the device. Queueing means that it calls ops,
/// which the device runs later.
enum class HostWork : std::uint8_t {
  BatchAssembly,
  DeviceMove,
  Queueing,  ///< in forward, backward or the optimizer's step
  Reading,   ///< the rest of the loss read besides its waits, usually logging
  Fallback,  ///< the part of a fallback that runs on the CPU
  InStep,    ///< in a step, but outside of its phases
  Evaluation,
  BetweenSteps
};
/// The number of values of HostWork.
inline constexpr std::size_t kHostWorks = 8;

/// A span of time in which the host did one kind of work without waiting for the device. Times are
/// in ns since the start of the run.
struct HostSpan {
  std::int64_t beginNs = 0, endNs = 0;
  HostWork work = HostWork::InStep;
  events::Phase phase = events::Phase::None;
  std::size_t row = 0;  ///< of the step that contains it, or that came before it

  [[nodiscard]] std::int64_t ns() const { return endNs - beginNs; }
};

/// A wait of the host that ends with an empty device queue. Every blocking copy, read or
/// synchronize() drains the only queue there is; a wait for an event does not. Times are in ns
/// since the start of the run.
struct Drain {
  std::int64_t beginNs = 0, endNs = 0;
  bool readsValues = false;  ///< so something was queued before it

  [[nodiscard]] std::int64_t ns() const { return endNs - beginNs; }
};

/// The host work between two consecutive drains of the device queue. The device is idle at the
/// beginning of a stretch. Refers to a HostTimeline, which must outlive it.
struct Stretch {
  const Drain& opening;
  const Drain& closing;
  std::span<const HostSpan> work;  ///< between the drains, in order of time
};

/// What the host did: its work from the beginning of the first step to the end of the last step,
/// wait or fallback, and all waits of the run that emptied the device's queue (see Drain). All
/// threads are merged into one line, because the training thread stands still while backward's
/// thread works. Neither spans nor drains overlap.
struct HostTimeline {
  std::vector<HostSpan> work;
  std::vector<Drain> drains;

  /// Calls f(stretch) for the work between each pair of consecutive drains, in order of time.
  template <typename F>
  void forEachStretch(F&& f) const;
};

/// Walks over the stretches of a timeline, in order of time, all at once or in parts.
class StretchWalk {
 public:
  /// `timeline` must outlive the walk and not change.
  explicit StretchWalk(const HostTimeline& timeline) : timeline_(timeline) {}

  /// Calls f(stretch) for the next stretches, until they have contained `mostSpans` spans of work.
  /// Returns whether there are more. As many as kSpansAPart take about a millisecond.
  template <typename F>
  bool forNext(std::size_t mostSpans, F&& f) {
    for (std::size_t spans = 0; !atEnd() && spans < mostSpans;) {
      const Stretch stretch = next();
      spans += stretch.work.size() + 1;
      f(stretch);
    }
    return !atEnd();
  }
  static constexpr std::size_t kSpansAPart = 4096;

 private:
  [[nodiscard]] bool atEnd() const { return drain_ + 1 >= timeline_.drains.size(); }
  Stretch next() {
    const auto& [work, drains] = timeline_;
    const Drain& opening = drains[drain_];
    const Drain& closing = drains[++drain_];
    while (span_ < work.size() && work[span_].beginNs < opening.endNs) ++span_;
    const std::size_t first = span_;
    while (span_ < work.size() && work[span_].beginNs < closing.beginNs) ++span_;
    return {opening, closing, std::span(work).subspan(first, span_ - first)};
  }

  const HostTimeline& timeline_;
  std::size_t drain_ = 0, span_ = 0;  ///< the next of each
};

template <typename F>
void HostTimeline::forEachStretch(F&& f) const {
  StretchWalk(*this).forNext(std::numeric_limits<std::size_t>::max(), std::forward<F>(f));
}

/// The longest wait for the device, in ns, that counts as near zero: the queue may have been empty
/// when it began. Committing an empty command buffer and the notification of its end alone take
/// some tenths of a millisecond.
inline constexpr std::int64_t kNearZeroWaitNs = 500'000;

/// Builds the timeline of the host from the phases, waits and fallbacks in the store. Empty for a
/// run without steps.
[[nodiscard]] HostTimeline makeHostTimeline(const LiveStore& store);
/// The same for the steps [first, last) in order of time, up to the begin of step `last`. Drains
/// before the first step are part of it only if `first` is 0.
[[nodiscard]] HostTimeline makeHostTimeline(const LiveStore& store, std::size_t first,
                                            std::size_t last);

/// The number of waits that touch a range of time and may be drains of a timeline, counted up to
/// `most`: those that empty the queue by their kind, and fallbacks. It is not less than the number
/// of the timeline's drains there. Needs no timeline.
[[nodiscard]] std::size_t possibleDrains(const LiveStore& store, const TimeRange& range,
                                         std::size_t most);

/// The median of the device spans of the run, in ns; 0 if none is known.
[[nodiscard]] std::int64_t medianSpanNs(const LiveStore& store);

/// Tells when the device finished the work that was queued in a stretch.
class DeviceEnds {
 public:
  /// Takes the steps and their device spans from the store. `timeline` must be made from the same
  /// store; neither is kept.
  DeviceEnds(const LiveStore& store, const HostTimeline& timeline);
  /// The same for the steps [first, last) in order of time, for a timeline of those.
  DeviceEnds(const LiveStore& store, const HostTimeline& timeline, std::size_t first,
             std::size_t last);

  /// Returns the time at which the device finished the work of a stretch, in ns since the start of
  /// the run. `last` is the last span of the stretch in which the host queued ops. The sources, in
  /// this order: the step's device span, if the stretch contains the end of the step and the
  /// batch's move waited; the closing wait, if it was longer than kNearZeroWaitNs or directly
  /// follows `last`. std::nullopt if neither is available: then the device finished at an unknown
  /// time after `last`.
  [[nodiscard]] std::optional<std::int64_t> of(const Stretch& stretch, const HostSpan& last) const;
  /// Returns when the device finished the step of a row, in ns since the start of the run. Known if
  /// the step has a device span and its batch's move waited.
  [[nodiscard]] std::optional<std::int64_t> ofStep(std::size_t row) const;
  /// What the wait at the end of a stretch takes beside the device's work, in ns, where it follows
  /// the wait before so soon that little was queued: a wait for next to nothing. 0 for others. The
  /// device has nothing to do in most of it.
  [[nodiscard]] std::int64_t emptyWaitNs(const Stretch& stretch) const;
  /// Whether queued work is known to have been committed in [fromNs, toNs], at the end of one of
  /// the steps [firstRow, lastRow]: a step with a device span ends with an event, whose recording
  /// commits (MPSEvent::recordLocked() in PyTorch).
  [[nodiscard]] bool commits(std::size_t firstRow, std::size_t lastRow, std::int64_t fromNs,
                             std::int64_t toNs) const;

 private:
  struct Step {
    std::int64_t endNs = 0;      ///< of the step on the host
    bool commits = false;        ///< at its end
    std::int64_t deviceNs = -1;  ///< when the device finished the step; -1: unknown
  };
  [[nodiscard]] const Step* step(std::size_t row) const {
    return row >= firstRow_ && row - firstRow_ < steps_.size() ? &steps_[row - firstRow_] : nullptr;
  }

  std::size_t firstRow_ = 0;
  std::vector<Step> steps_;       ///< from firstRow_ on
  std::int64_t emptyWaitNs_ = 0;  ///< 0: not known
};

}  // namespace highwater::analysis

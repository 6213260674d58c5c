#include "analysis/device/host_timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/named_phases.h"
#include "analysis/run_summary.h"
#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

using events::Phase;

/// A wait or the CPU part of a fallback, which interrupts the phases.
struct Overlay {
  std::int64_t beginNs = 0, endNs = 0;
  bool isWait = true;
  bool drains = true;
  bool readsValues = false;
};

void addFallbacks(const LiveStore& store, const TimeRange& range, std::vector<Overlay>& overlays) {
  const SpanIndex& lane = store.fallbackLane();
  std::int64_t coveredNs = range.beginNs;
  const std::size_t last = lane.firstFrom(range.endNs);
  for (std::size_t i = lane.firstFrom(range.beginNs); i < last; ++i) {
    const Span& span = lane[i];
    if (span.beginNs < coveredNs) continue;
    coveredNs = span.endNs;
    const std::int64_t wait = store.fallbacks()[span.payload].wait_ns();
    const std::int64_t computeNs =
        std::min(span.beginNs + std::max<std::int64_t>(wait, 0), span.endNs);
    overlays.push_back({span.beginNs, computeNs, true, true, true});
    overlays.push_back({computeNs, span.endNs, false, false, false});
  }
}

bool readsValues(events::SyncKind kind) {
  return kind != events::SyncKind::CopyToDevice && kind != events::SyncKind::Synchronize &&
         kind != events::SyncKind::EventWait;
}

/// The overlays that begin in a range, in order of time, cut so that none overlaps the one before.
std::vector<Overlay> overlaysOf(const LiveStore& store, const TimeRange& range) {
  std::vector<Overlay> all;
  addFallbacks(store, range, all);
  const SpanIndex& lane = store.syncLane();
  const std::size_t first = lane.firstFrom(range.beginNs), last = lane.firstFrom(range.endNs);
  all.reserve(all.size() + last - first);
  for (std::size_t i = first; i < last; ++i) {
    const events::SyncKind kind = store.syncPoints()[lane[i].payload].kind();
    all.push_back({lane[i].beginNs, lane[i].endNs, true, kind != events::SyncKind::EventWait,
                   readsValues(kind)});
  }
  const auto isEarlier = [](const Overlay& a, const Overlay& b) { return a.beginNs < b.beginNs; };
  if (!std::is_sorted(all.begin(), all.end(), isEarlier)) {
    std::stable_sort(all.begin(), all.end(), isEarlier);
  }
  std::vector<Overlay> disjoint;
  disjoint.reserve(all.size());
  for (Overlay each : all) {
    if (!disjoint.empty()) {
      const std::int64_t from = disjoint.back().endNs;
      if (each.beginNs < from && each.endNs <= from) continue;
      each.beginNs = std::max(each.beginNs, from);
    }
    disjoint.push_back(each);
  }
  return disjoint;
}

HostWork workIn(Phase phase) {
  switch (phase) {
    case Phase::BatchAssembly:
      return HostWork::BatchAssembly;
    case Phase::DeviceMove:
      return HostWork::DeviceMove;
    case Phase::LossRead:
      return HostWork::Reading;
    case Phase::None:
      return HostWork::InStep;
    default:
      return HostWork::Queueing;
  }
}

/// The first span of a lane that begins at or after a time, for times that mostly grow: then it is
/// a few spans further on than the one before.
class LaneCursor {
 public:
  explicit LaneCursor(const SpanIndex& lane) : lane_(lane) {}

  std::size_t firstFrom(std::int64_t ns) {
    constexpr std::size_t kNear = 32;
    if (at_ > 0 && at_ <= lane_.size() && lane_[at_ - 1].beginNs < ns) {
      for (std::size_t i = 0; i < kNear; ++i, ++at_) {
        if (at_ == lane_.size() || lane_[at_].beginNs >= ns) return at_;
      }
    }
    return at_ = lane_.firstFrom(ns);
  }

 private:
  const SpanIndex& lane_;
  std::size_t at_ = 0;
};

/// Splits the run into phases and the time between them, and calls take(span) for each.
template <typename Take>
class PhaseLine {
 public:
  PhaseLine(const LiveStore& store, Take take)
      : store_(store), take_(std::move(take)), phases_(store.phaseLane()) {}

  /// Of the steps [first, last); `endNs` is the end of the run so far.
  void make(std::size_t first, std::size_t last, std::int64_t endNs) {
    const SpanIndex& steps = store_.steps().lane;
    for (std::size_t i = first; i < last; ++i) {
      const bool isLast = i + 1 == steps.size();
      const std::int64_t nextNs = isLast ? std::max(endNs, steps[i].endNs) : steps[i + 1].beginNs;
      addStep(steps[i], nextNs);
      fill(nextNs, isOfRun(steps[i].endNs, nextNs) ? HostWork::BetweenSteps : HostWork::Evaluation,
           Phase::None, steps[i].payload);
    }
  }

 private:
  void addStep(const Span& step, std::int64_t nextNs) {
    if (!begun_) upToNs_ = step.beginNs;
    const SpanIndex& lane = store_.phaseLane();
    const std::size_t first = phases_.firstFrom(step.beginNs);
    const std::size_t last = phases_.firstFrom(std::min(step.endNs, nextNs));
    for (std::size_t i = first; i < last; ++i) {
      const Span& phase = lane[i];
      const auto which = store_.phases()[phase.payload].phase();
      fill(std::min(phase.beginNs, step.endNs), HostWork::InStep, Phase::None, step.payload);
      fill(std::min(phase.endNs, step.endNs), workIn(which), which, step.payload);
    }
    fill(step.endNs, HostWork::InStep, Phase::None, step.payload);
  }

  void fill(std::int64_t toNs, HostWork work, Phase phase, std::size_t row) {
    if (toNs <= upToNs_) return;
    begun_ = true;
    take_(HostSpan{upToNs_, toNs, work, phase, row});
    upToNs_ = toNs;
  }

  /// Whether no evaluation lies there, nor work of Highwater's own, which the run has not either
  /// without it.
  [[nodiscard]] bool isOfRun(std::int64_t fromNs, std::int64_t toNs) const {
    const auto& all = store_.evaluations();
    const auto first = std::partition_point(
        all.begin(), all.end(), [=](const auto& each) { return each.time_ns() < fromNs; });
    if (first != all.end() && first->time_ns() <= toNs) return false;
    // A script has no results of evaluations, only spans.
    if (store_.namedLane().empty()) return true;
    const auto [from, to] = store_.namedLane().touching(fromNs, toNs);
    for (std::size_t i = from; i < to; ++i) {
      const events::NamedSpan& span = store_.namedSpans()[store_.namedLane()[i].payload];
      const NameKind kind = nameKind(store_, store_.name(span.name()));
      if (kind == NameKind::Evaluation || kind == NameKind::Highwater) return false;
    }
    return true;
  }

  const LiveStore& store_;
  Take take_;
  LaneCursor phases_;
  bool begun_ = false;
  std::int64_t upToNs_ = 0;
};

/// In so short a time between two waits, in ns, the host queues an op or two.
constexpr std::int64_t kAtOnceNs = 50'000;
/// A wait for next to nothing takes no longer, in ns: longer ones wait for work.
constexpr double kMostEmptyNs = 250'000;
/// So many of these waits tell how long one for next to nothing is.
constexpr std::size_t kLeastAtOnce = 20;

bool followsAtOnce(const Drain& before, const Drain& wait) {
  return wait.beginNs - before.endNs <= kAtOnceNs;
}

/// What most of the waits take that follow one another at once: until the host has heard of the
/// device's end, which depends on whether its thread has fallen asleep. 0 where there are few, or
/// where they wait for more.
std::int64_t shortWaitsNs(const std::vector<Drain>& drains) {
  std::vector<double> waits;
  for (std::size_t i = 1; i < drains.size(); ++i) {
    if (followsAtOnce(drains[i - 1], drains[i])) {
      waits.push_back(static_cast<double>(drains[i].ns()));
    }
  }
  if (waits.size() < kLeastAtOnce) return 0;
  const double ns = percentileOf(waits, 75);
  return ns <= kMostEmptyNs ? static_cast<std::int64_t>(ns) : 0;
}

}  // namespace

HostTimeline makeHostTimeline(const LiveStore& store) {
  return makeHostTimeline(store, 0, store.steps().lane.size());
}

HostTimeline makeHostTimeline(const LiveStore& store, std::size_t first, std::size_t last) {
  HostTimeline timeline;
  const SpanIndex& steps = store.steps().lane;
  if (first >= last) return timeline;
  using Limits = std::numeric_limits<std::int64_t>;
  const std::vector<Overlay> overlays =
      overlaysOf(store, {first == 0 ? Limits::min() : steps[first].beginNs,
                         last == steps.size() ? Limits::max() : steps[last].beginNs});
  const std::int64_t endNs = overlays.empty() ? 0 : overlays.back().endNs;
  auto overlay = overlays.begin();
  timeline.work.reserve(7 * (last - first) + overlays.size());  // a step has six phases at most
  const auto add = [&](HostSpan span) {
    for (; overlay != overlays.end() && overlay->beginNs < span.endNs; ++overlay) {
      if (overlay->endNs < span.beginNs) continue;
      HostSpan before = span;
      before.endNs = std::max(overlay->beginNs, span.beginNs);
      if (before.ns() > 0) timeline.work.push_back(before);
      const std::int64_t upToNs = std::min(overlay->endNs, span.endNs);
      if (!overlay->isWait) {
        HostSpan compute = span;
        compute.beginNs = before.endNs;
        compute.endNs = upToNs;
        compute.work = HostWork::Fallback;
        if (compute.ns() > 0) timeline.work.push_back(compute);
      }
      span.beginNs = upToNs;
      if (overlay->endNs > span.endNs) break;  // the rest interrupts the next span
    }
    if (span.ns() > 0) timeline.work.push_back(span);
  };
  PhaseLine(store, add).make(first, last, endNs);
  for (const Overlay& each : overlays) {
    if (each.drains) timeline.drains.push_back({each.beginNs, each.endNs, each.readsValues});
  }
  return timeline;
}

std::size_t possibleDrains(const LiveStore& store, const TimeRange& range, std::size_t most) {
  std::size_t count = 0;
  const SpanIndex& waits = store.syncLane();
  const auto [firstWait, lastWait] = waits.touching(range.beginNs, range.endNs);
  for (std::size_t i = firstWait; i < lastWait && count < most; ++i) {
    count += store.syncPoints()[waits[i].payload].kind() != events::SyncKind::EventWait ? 1 : 0;
  }
  const SpanIndex& fallbacks = store.fallbackLane();
  const auto [first, last] = fallbacks.touching(range.beginNs, range.endNs);
  return std::min(count + (last - first), most);
}

std::int64_t medianSpanNs(const LiveStore& store) {
  std::vector<double> known;
  for (std::size_t row = 0; row < store.steps().records.size(); ++row) {
    const double ms = store.steps().deviceMs[row];
    if (!std::isnan(ms)) known.push_back(ms);
  }
  return static_cast<std::int64_t>(medianOf(std::move(known)) * kNsPerMs);
}

std::int64_t DeviceEnds::emptyWaitNs(const Stretch& stretch) const {
  const std::int64_t ns = stretch.closing.ns();
  const bool isOne = followsAtOnce(stretch.opening, stretch.closing) && ns <= 2 * emptyWaitNs_;
  return isOne ? std::min(ns, emptyWaitNs_) : 0;
}

DeviceEnds::DeviceEnds(const LiveStore& store, const HostTimeline& timeline)
    : DeviceEnds(store, timeline, 0, store.steps().records.size()) {}

DeviceEnds::DeviceEnds(const LiveStore& store, const HostTimeline& timeline, std::size_t firstRow,
                       std::size_t lastRow)
    : firstRow_(firstRow), steps_(lastRow - firstRow), emptyWaitNs_(shortWaitsNs(timeline.drains)) {
  const StepColumns& steps = store.steps();
  LaneCursor phases(store.phaseLane());
  for (std::size_t row = firstRow; row < lastRow; ++row) {
    const events::StepRecord& record = steps.records[row];
    Step& step = steps_[row - firstRow];
    step.endNs = record.begin_ns() + record.duration_ns();
    if (std::isnan(steps.deviceMs[row])) continue;
    step.commits = true;
    const SpanIndex& lane = store.phaseLane();
    const bool isLast = row + 1 == steps.records.size();
    const std::size_t first = phases.firstFrom(record.begin_ns());
    const std::size_t last = phases.firstFrom(
        isLast ? step.endNs : std::min(step.endNs, steps.records[row + 1].begin_ns()));
    for (std::size_t i = first; i < last; ++i) {
      const Span& phase = lane[i];
      if (store.phases()[phase.payload].phase() != Phase::DeviceMove) continue;
      const auto drain =
          std::lower_bound(timeline.drains.begin(), timeline.drains.end(), phase.beginNs,
                           [](const Drain& each, std::int64_t ns) { return each.beginNs < ns; });
      if (drain == timeline.drains.end() || drain->endNs > phase.endNs) continue;
      const auto spanNs = static_cast<std::int64_t>(steps.deviceMs[row] * kNsPerMs);
      step.deviceNs = phase.endNs + spanNs;
    }
  }
}

std::optional<std::int64_t> DeviceEnds::ofStep(std::size_t row) const {
  const Step* found = step(row);
  return found && found->deviceNs >= 0 ? std::optional(found->deviceNs) : std::nullopt;
}

bool DeviceEnds::commits(std::size_t firstRow, std::size_t lastRow, std::int64_t fromNs,
                         std::int64_t toNs) const {
  for (std::size_t row = firstRow; row <= lastRow; ++row) {
    const Step* each = step(row);
    if (each && each->commits && each->endNs >= fromNs && each->endNs <= toNs) return true;
  }
  return false;
}

std::optional<std::int64_t> DeviceEnds::of(const Stretch& stretch, const HostSpan& last) const {
  const Drain& closing = stretch.closing;
  const Step* known = step(last.row);
  // May lie before the wait: then the host waited for something else, such as a CPU core.
  if (known && known->deviceNs >= 0 && closing.beginNs >= known->endNs) {
    return std::clamp(known->deviceNs, last.endNs, std::max(last.endNs, closing.endNs));
  }
  if (closing.ns() > kNearZeroWaitNs) return closing.endNs;
  if (closing.beginNs - last.endNs <= kNearZeroWaitNs) return last.endNs;
  return std::nullopt;
}

}  // namespace highwater::analysis

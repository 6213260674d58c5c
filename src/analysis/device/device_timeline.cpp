#include "analysis/device/device_timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analysis/device/host_timeline.h"
#include "analysis/device/idle_parts.h"
#include "analysis/live_store.h"
#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// The device span of a step arrives up to so many steps later.
constexpr std::size_t kUnsettledSteps = 8;
/// Steps that are built at once, and the longest stretch without a wait that is read again.
constexpr std::size_t kStepsAtOnce = 4096;

double medianSpanMs(const LiveStore& store, std::size_t first, std::size_t last, double before) {
  std::vector<double> known;
  const auto& deviceMs = store.steps().deviceMs;
  for (std::size_t row = first; row < last; ++row) {
    if (!std::isnan(deviceMs[row])) known.push_back(deviceMs[row]);
  }
  return known.empty() ? before : medianOf(std::move(known));
}

}  // namespace

/// Builds the timeline of the steps from resumeStep_ to `last`.
class DeviceTimeline::Builder {
 public:
  Builder(DeviceTimeline& to, const LiveStore& store, std::size_t last)
      : to_(to),
        store_(store),
        last_(last),
        timeline_(makeHostTimeline(store, to.resumeStep_, last)),
        ends_(store, timeline_, to.resumeStep_, last),
        // Near the newest steps some device spans are still to come.
        settled_(std::max(last, kUnsettledSteps) - kUnsettledSteps) {}

  void addActivity() {
    to_.activity_.truncate(to_.settledActivity_);
    to_.medianSpanMs_ = medianSpanMs(store_, to_.resumeStep_, last_, to_.medianSpanMs_);
    // A run that grows is read in short timelines, and must look as it does when it is opened.
    const IdleRules rules(store_, ends_, static_cast<std::int64_t>(to_.medianSpanMs_ * kNsPerMs),
                          false);
    const SpanIndex& steps = store_.steps().lane;
    const std::int64_t settledNs = steps[settled_].beginNs;
    const Drain* resume = nullptr;
    const std::int64_t fromNs = to_.resumeNs_;
    timeline_.forEachStretch([&](const Stretch& stretch) {
      if (stretch.opening.endNs < fromNs) return;
      if (stretch.opening.endNs <= settledNs) {
        resume = &stretch.opening;
        to_.settledActivity_ = to_.activity_.size();
      }
      addStretch(stretch, rules);
    });
    if (resume) {
      to_.resumeNs_ = resume->endNs;
      // Begins a step earlier, so that what the drain may overlap is read too.
      const std::size_t step = steps.firstFrom(resume->beginNs + 1);
      to_.resumeStep_ = std::max(to_.resumeStep_, std::max<std::size_t>(step, 2) - 2);
    } else if (settled_ - std::min(to_.resumeStep_, settled_) >= kStepsAtOnce) {
      to_.resumeStep_ = settled_;  // no wait in thousands of steps: nothing is known of them
    }
  }

  void addStepSpans() {
    to_.stepSpans_.truncate(to_.settledStepSpans_);
    const SpanIndex& steps = store_.steps().lane;
    for (std::size_t i = to_.resumeSpanStep_; i < last_; ++i) {
      if (i == settled_) to_.settledStepSpans_ = to_.stepSpans_.size();
      const double ms = store_.steps().deviceMs[steps[i].payload];
      if (!std::isnan(ms)) addStepSpan(steps[i], static_cast<std::int64_t>(ms * kNsPerMs));
    }
    to_.resumeSpanStep_ = std::max(to_.resumeSpanStep_, settled_);
  }

 private:
  void addStretch(const Stretch& stretch, const IdleRules& rules) {
    const std::int64_t firstWorkNs = store_.steps().lane[0].beginNs;
    std::int64_t upToNs = std::max(stretch.opening.endNs, firstWorkNs);
    if (stretch.closing.endNs <= upToNs) return;
    if (!to_.knowsActivity()) to_.beginNs_ = upToNs;
    std::size_t row = stretch.work.empty() ? 0 : stretch.work.front().row;
    rules.apply(stretch, [&](const IdlePart& part) {
      row = part.span.row;
      if (part.share <= 0 || part.endNs <= part.beginNs) return;
      add(upToNs, part.beginNs, kBusy, row);
      if (part.share < 1) add(std::max(part.beginNs, upToNs), part.endNs, kHalfBusy, row);
      upToNs = std::max(upToNs, part.endNs);
    });
    add(upToNs, stretch.closing.endNs, kBusy, row);
    to_.endNs_ = std::max(to_.endNs_, stretch.closing.endNs);
  }

  void add(std::int64_t beginNs, std::int64_t endNs, Activity activity, std::size_t row) {
    if (endNs <= beginNs) return;
    to_.activity_.append({beginNs, endNs, static_cast<std::uint32_t>(row), activity});
  }

  void addStepSpan(const Span& step, std::int64_t spanNs) {
    if (const auto end = ends_.ofStep(step.payload)) {
      const std::int64_t firstNs = std::min(store_.steps().lane[0].beginNs, *end);
      const std::int64_t beginNs = *end - firstNs > spanNs ? *end - spanNs : firstNs;
      to_.stepSpans_.append({beginNs, *end, step.payload, kPlaced});
      return;
    }
    // After the step before; but at the first drain after it the device had finished it.
    const std::size_t before = to_.stepSpans_.size();
    std::int64_t beginNs = step.beginNs;
    if (before > 0) beginNs = std::max(beginNs, to_.stepSpans_[before - 1].endNs);
    const auto drain =
        std::lower_bound(timeline_.drains.begin(), timeline_.drains.end(), step.endNs,
                         [](const Drain& each, std::int64_t ns) { return each.beginNs < ns; });
    if (drain != timeline_.drains.end()) {
      beginNs = std::max(std::min(beginNs, drain->endNs - spanNs), step.beginNs);
    }
    // Spans that are too long, one after the other, must not run away: each began before now.
    const std::int64_t nowNs = std::max(store_.completeUpToNs(), step.endNs);
    beginNs = std::min(beginNs, nowNs);
    constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
    const std::int64_t endNs = beginNs > kEnd - spanNs ? kEnd : beginNs + spanNs;
    to_.stepSpans_.append({beginNs, endNs, step.payload, kPlaceEstimated});
  }

  DeviceTimeline& to_;
  const LiveStore& store_;
  std::size_t last_;
  HostTimeline timeline_;
  DeviceEnds ends_;
  std::size_t settled_;  ///< steps before this one are built for good
};

void DeviceTimeline::update(const LiveStore& store) {
  if (revision_ == store.revision()) return;
  const bool hasQueue = store.hasQueue();
  if (!hasQueue) *this = {};
  revision_ = store.revision();
  if (!hasQueue) return;
  const SpanIndex& steps = store.steps().lane;
  // The phases and waits of later steps may still be on their way.
  std::size_t complete = steps.size();
  while (complete > 0 && steps[complete - 1].endNs > store.completeUpToNs()) --complete;
  for (std::size_t last = resumeStep_; last < complete;) {
    last = std::min(complete, last + kStepsAtOnce);
    Builder builder(*this, store, last);
    builder.addStepSpans();
    builder.addActivity();
  }
}

std::optional<double> DeviceTimeline::busyShare(std::int64_t beginNs, std::int64_t endNs) const {
  beginNs = std::max(beginNs, beginNs_);
  endNs = std::min(endNs, endNs_);
  if (beginNs >= endNs) return std::nullopt;
  double busyNs = 0;
  activity_.shares(beginNs, static_cast<double>(endNs - beginNs), 1,
                   [&](int, const ColumnShares& shares) {
                     for (const CategoryTime& part : shares.parts) {
                       const double factor = part.category == kBusy ? 1 : 0.5;
                       busyNs += factor * static_cast<double>(part.ns);
                     }
                   });
  return std::min(busyNs / static_cast<double>(endNs - beginNs), 1.0);
}

}  // namespace highwater::analysis

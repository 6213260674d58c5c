#include "views/panels/finding_example.h"

#include <algorithm>
#include <cmath>

#include "core/names.h"

namespace highwater::views {

using analysis::Finding;
using analysis::FindingKind;
using analysis::LiveStore;

namespace {

/// The longest event for which matches(event) holds, within the steps of the finding.
template <typename Event, typename Matches>
std::optional<std::uint32_t> longest(const std::vector<Event>& events, const Finding& finding,
                                     Matches&& matches) {
  std::optional<std::uint32_t> best;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.step() < finding.firstStep || event.step() > finding.lastStep || !matches(event)) {
      continue;
    }
    if (!best || event.duration_ns() > events[*best].duration_ns()) {
      best = static_cast<std::uint32_t>(i);
    }
  }
  return best;
}

/// The step of the finding for which of(step) is largest; the first of several.
template <typename Of>
std::optional<EventRef> mostOf(const LiveStore& store, const Finding& finding, Of&& of) {
  const auto& steps = store.steps().records;
  auto most = steps.end();
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    if (step->step() < finding.firstStep || step->step() > finding.lastStep) continue;
    if (most == steps.end() || of(*step) > of(*most)) most = step;
  }
  if (most == steps.end()) return std::nullopt;
  return EventRef{Lane::kSteps, static_cast<std::uint32_t>(most - steps.begin())};
}

std::optional<EventRef> eventOf(const LiveStore& store, const Finding& finding) {
  const auto refer = [](Lane lane, std::optional<std::uint32_t> index) {
    return index ? std::optional(EventRef{lane, *index}) : std::nullopt;
  };
  switch (finding.kind) {
    case FindingKind::Fallback:
      return refer(Lane::kFallbacks, finding.longest);
    case FindingKind::ChattyLogging:
    case FindingKind::SyncPoint:
      return refer(Lane::kSyncPoints, finding.longest);
    case FindingKind::HostBound:
      return refer(Lane::kPhases,
                   longest(store.phases(), finding, [&](const events::PhaseSpan& phase) {
                     return phaseName(phase.phase()) == finding.where;
                   }));
    case FindingKind::NearLimit:
      return mostOf(store, finding,
                    [](const events::StepRecord& step) { return step.peak_driver_bytes(); });
    case FindingKind::StepTimeSwings:
      return mostOf(store, finding,
                    [](const events::StepRecord& step) { return step.duration_ns(); });
    case FindingKind::NonFiniteLoss:  // the first one
      return mostOf(store, finding, [](const events::StepRecord& step) {
        return step.loss_read() != 0 && !std::isfinite(step.loss()) ? 1 : 0;
      });
    case FindingKind::OutOfMemory:
    case FindingKind::Recovered: {
      const auto& markers = store.markers();
      const auto last = std::find_if(markers.rbegin(), markers.rend(), [&](const auto& marker) {
        return marker.kind() == events::MarkerKind::OutOfMemory &&
               marker.step() <= finding.lastStep;
      });
      if (last == markers.rend()) return std::nullopt;
      return EventRef{Lane::kMarkers, static_cast<std::uint32_t>(markers.rend() - last - 1)};
    }
    default:
      return std::nullopt;
  }
}

/// The last step that begins at or before `ns`.
std::optional<TimeRange> stepAround(const LiveStore& store, std::int64_t ns) {
  const auto& lane = store.steps().lane;
  const auto found = lane.before(ns + 1);
  return found ? std::optional(TimeRange{lane[*found].beginNs, lane[*found].endNs}) : std::nullopt;
}

}  // namespace

std::optional<FindingExample> exampleOf(const LiveStore& store, const Finding& finding) {
  if (const auto event = eventOf(store, finding)) {
    const TimeRange own = timeRangeOf(store, *event);
    const TimeRange step = stepAround(store, own.beginNs).value_or(own);
    return FindingExample{{std::min(step.beginNs, own.beginNs), std::max(step.endNs, own.endNs)},
                          event};
  }
  // A trend: all steps of the finding.
  std::optional<TimeRange> range;
  for (const events::StepRecord& step : store.steps().records) {
    if (step.step() < finding.firstStep || step.step() > finding.lastStep) {
      continue;
    }
    const std::int64_t endNs = step.begin_ns() + step.duration_ns();
    range = TimeRange{range ? range->beginNs : step.begin_ns(), endNs};
  }
  return range ? std::optional(FindingExample{*range, std::nullopt}) : std::nullopt;
}

}  // namespace highwater::views

#include "views/lanes/lane_kind.h"

#include <array>

namespace highwater::views {

const LaneKind& laneKind(Lane lane) {
  // In the order of the enum.
  static const std::array<const LaneKind*, 6> kKinds = {
      &stepLane(), &phaseLane(), &syncPointLane(), &fallbackLane(), &markerLane(), &opLane()};
  return *kKinds[static_cast<std::size_t>(lane)];
}

std::optional<std::uint32_t> LaneKind::at(const analysis::LiveStore& store, const LaneRow& row,
                                          std::int64_t ns, std::int64_t slackNs) const {
  const analysis::SpanIndex* lane = spans(store, row);
  const auto found = lane ? lane->at(ns, slackNs) : std::nullopt;
  return found ? std::optional((*lane)[*found].payload) : std::nullopt;
}

bool exists(const analysis::LiveStore& store, const EventRef& event) {
  return laneKind(event.lane).exists(store, event.index);
}

TimeRange timeRangeOf(const analysis::LiveStore& store, const EventRef& event) {
  return exists(store, event) ? laneKind(event.lane).range(store, event.index) : TimeRange{};
}

std::optional<OpRef> opOf(const analysis::LiveStore& store, const EventRef& event) {
  return exists(store, event) ? laneKind(event.lane).op(store, event.index) : std::nullopt;
}

CallSiteId callSiteOf(const analysis::LiveStore& store, const EventRef& event) {
  return exists(store, event) ? laneKind(event.lane).callSite(store, event.index) : kNoId;
}

QColor shaded(QColor color, double share) {
  color.setAlphaF(static_cast<float>(std::clamp(0.25 + 0.75 * share, 0.0, 1.0)));
  return color;
}

}  // namespace highwater::views

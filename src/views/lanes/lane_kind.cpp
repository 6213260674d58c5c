#include "views/lanes/lane_kind.h"

#include <array>

#include "core/units.h"
#include "models/qt_text.h"
#include "views/lanes/event_words.h"

namespace highwater::views {

const LaneKind& laneKind(Lane lane) {
  // In the order of the enum.
  static const std::array<const LaneKind*, 8> kKinds = {
      &stepLane(),   &phaseLane(), &syncPointLane(), &fallbackLane(),
      &markerLane(), &opLane(),    &deviceLane(),    &namedLane()};
  return *kKinds[static_cast<std::size_t>(lane)];
}

std::optional<std::uint32_t> LaneKind::at(const analysis::LiveStore& store, const LaneRow& row,
                                          std::int64_t ns, std::int64_t slackNs) const {
  const analysis::SpanIndex* lane = spans(store, row);
  const auto found = lane ? lane->at(ns, slackNs) : std::nullopt;
  return found ? std::optional((*lane)[*found].payload) : std::nullopt;
}

QString LaneKind::mergedText(const Store& store, const LaneRow& row, std::int64_t beginNs,
                             double lengthNs) const {
  const analysis::SpanIndex* lane = spans(store, row);
  if (!lane || !(lengthNs > 0)) {
    return {};
  }
  struct Part {
    QString name;
    std::int64_t ns = 0, begun = 0;
  };
  std::vector<Part> parts;
  std::int64_t begun = 0, columnNs = 0;
  lane->shares(beginNs, lengthNs, 1, [&](int, const analysis::ColumnShares& shares) {
    columnNs = shares.columnNs;
    for (const analysis::CategoryTime& each : shares.parts) {
      const QString name = partName(each.category);
      const auto same = std::find_if(parts.begin(), parts.end(),
                                     [&name](const Part& part) { return part.name == name; });
      Part& part = same == parts.end() ? parts.emplace_back(Part{name}) : *same;
      part.ns += each.ns;
      part.begun += each.begun;
      begun += each.begun;
    }
  });
  if (begun < 2 || columnNs <= 0 || parts.front().name.isEmpty()) {
    return {};
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.ns > b.ns; });
  QStringList lines{tr("%1 in this pixel").arg(highwater::text(formatDuration(columnNs)))};
  for (const Part& part : parts) {
    const double share = static_cast<double>(part.ns) / static_cast<double>(columnNs);
    lines << tr("%1 %2, %3×").arg(part.name, percentText(share)).arg(part.begun);
  }
  return lines.join(QLatin1Char('\n'));
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

#include "views/timeline_pane.h"

#include <cmath>

#include "views/event_text.h"

namespace highwater::views {
namespace {

constexpr int kSlackPixels = 5;

QString laneName(Lane lane) {
  switch (lane) {
    case Lane::kSteps:
      return TimelinePane::tr("Steps");
    case Lane::kPhases:
      return TimelinePane::tr("Phases");
    case Lane::kSyncPoints:
      return TimelinePane::tr("Sync points");
    case Lane::kFallbacks:
      return TimelinePane::tr("Fallbacks");
    case Lane::kMarkers:
      return TimelinePane::tr("Markers");
  }
  return {};
}

}  // namespace

TimelinePane::TimelinePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                           QWidget* parent)
    : TimePane(store, axis, focus, parent), lanes_(new TimelineLanes(this, store, focus)) {
  setObjectName(QStringLiteral("timelinePane"));
  setAccessibleName(tr("Timeline of steps, phases, sync points, fallbacks and markers"));
  TimelinePane::setMeasures({});
}

void TimelinePane::setMeasures(const PaneMeasures& measures) {
  TimePane::setMeasures(measures);
  axisRect()->setMargins(QMargins(measures.gutter, measures.header, measures.rightInset, 1));
  rows_ = LaneRows::from(measures.header, measures.small);
  lanes_->setRows(rows_);
  setFixedHeight(static_cast<int>(rows_.bottom()) + 1);
}

void TimelinePane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  painter.setFont(textFont(kSmallText));
  for (const LaneRows::Row& row : rows_.rows) {
    painter.fillRect(QRectF(0, row.top - 1, measures().gutter, 1), theme().grid);
    painter.setPen(theme().text2);
    painter.drawText(QRectF(12, row.top, measures().gutter - 16, row.height), Qt::AlignVCenter,
                     laneName(row.lane));
  }
}

std::optional<EventRef> TimelinePane::eventAt(const QPoint& position) const {
  const TimeScale s = scale();
  const std::int64_t at = s.timeAt(position.x() + 0.5);
  const auto slack = static_cast<std::int64_t>(kSlackPixels * s.nsPerPixel());
  for (const LaneRows::Row& row : rows_.rows) {
    if (position.y() < row.top || position.y() >= row.top + row.height) {
      continue;
    }
    if (row.lane == Lane::kMarkers) {
      const auto& markers = store_->markers();
      for (std::size_t i = 0; i < markers.size(); ++i) {
        if (std::abs(markers[i].time_ns() - at) <= slack) {
          return EventRef{Lane::kMarkers, static_cast<std::uint32_t>(i)};
        }
      }
      return std::nullopt;
    }
    const analysis::SpanIndex& spans = row.lane == Lane::kSteps        ? store_->steps().lane
                                       : row.lane == Lane::kPhases     ? store_->phaseLane()
                                       : row.lane == Lane::kSyncPoints ? store_->syncLane()
                                                                       : store_->fallbackLane();
    const auto found = spans.at(at, slack);
    return found ? std::optional(EventRef{row.lane, spans[*found].payload}) : std::nullopt;
  }
  return std::nullopt;
}

void TimelinePane::clicked(const QPoint& position) {
  if (const auto event = eventAt(position)) {
    focus_->pick(*event);
  } else {
    focus_->clear();
  }
}

QString TimelinePane::tipAt(const QPoint& position) const {
  const auto event = eventAt(position);
  return event ? eventText(*store_, *event).joined() : QString();
}

QString TimelinePane::emptyText() const {
  return store_->steps().records.empty() && store_->phases().empty()
             ? tr("Steps and their phases, sync points, fallbacks and markers")
             : QString();
}

}  // namespace highwater::views

#include "views/timeline_pane.h"

#include <QAction>
#include <QToolButton>
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
    case Lane::kOps:
      return TimelinePane::tr("Ops");
  }
  return {};
}

}  // namespace

TimelinePane::TimelinePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                           QWidget* parent)
    : TimePane(store, axis, focus, parent),
      lanes_(new TimelineLanes(this, store, focus)),
      offer_(new QToolButton(this)) {
  offer_->setObjectName(QStringLiteral("offerOpsButton"));
  offer_->setProperty("kind", "link");
  offer_->setFocusPolicy(Qt::NoFocus);
  offer_->hide();
  setObjectName(QStringLiteral("timelinePane"));
  setAccessibleName(tr("Timeline of steps, phases, ops, sync points, fallbacks and markers"));
  TimelinePane::setMeasures({});
}

void TimelinePane::refresh() {
  if (opLanes(store_->ops(), mostOpRows_) != opLanes_) {
    layOut();
  }
  TimePane::refresh();
}

void TimelinePane::setMeasures(const PaneMeasures& measures) {
  TimePane::setMeasures(measures);
  axisRect()->setMargins(QMargins(measures.gutter, measures.header, measures.rightInset, 1));
  layOut();
}

void TimelinePane::offerOps(QAction* action) {
  QAction* wanted = store_->ops().empty() ? action : nullptr;
  if (wanted == offer_->defaultAction()) {
    return;
  }
  if (offer_->defaultAction()) {
    offer_->removeAction(offer_->defaultAction());
  }
  if (wanted) {
    offer_->setDefaultAction(wanted);
  }
  offer_->setVisible(wanted != nullptr);
  const QFontMetricsF metrics(textFont(kText));
  offer_->adjustSize();
  offer_->move(measures().gutter + static_cast<int>(metrics.horizontalAdvance(notRecorded())) + 14,
               13 - offer_->height() / 2);
  scheduleOverlay();
}

QString TimelinePane::notRecorded() const {
  return tr("Ops are not recorded at this level");
}

std::vector<Readout> TimelinePane::readouts() const {
  if (offer_->isHidden()) {
    return {};
  }
  return {{Swatch::kNone, {}, notRecorded(), {}}};
}

void TimelinePane::setMostOpRows(int most) {
  if (most != mostOpRows_) {
    mostOpRows_ = most;
    refresh();
  }
}

int TimelinePane::heightWithoutOps() const {
  return static_cast<int>(LaneRows::from(measures().header, measures().small).bottom()) + 1;
}

void TimelinePane::layOut() {
  opLanes_ = opLanes(store_->ops(), mostOpRows_);
  rows_ = LaneRows::from(measures().header, measures().small, opLanes_);
  lanes_->setRows(rows_);
  setFixedHeight(static_cast<int>(rows_.bottom()) + 1);
}

void TimelinePane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  painter.setFont(textFont(kSmallText));
  for (const LaneRows::Row& row : rows_.rows) {
    const QRectF box(12, row.top, measures().gutter - 16, row.height);
    if (row.lane == Lane::kOps) {
      paintOpLabel(painter, row, box);
      continue;
    }
    painter.fillRect(QRectF(0, row.top - 1, measures().gutter, 1), theme().grid);
    painter.setPen(theme().text2);
    painter.drawText(box, Qt::AlignVCenter, laneName(row.lane));
  }
}

void TimelinePane::paintOpLabel(QPainter& painter, const LaneRows::Row& row,
                                const QRectF& box) const {
  const auto [thread, depth] = row.ops.key;
  const int below = row.ops.hiddenBelow;
  if (depth == 0) {
    painter.fillRect(QRectF(0, row.top - 1, measures().gutter, 1), theme().grid);
    const QString name = QString::fromStdString(store_->threadName(thread));
    const QString hidden = below > 0 ? tr(" +%1").arg(below) : QString();
    const int room =
        static_cast<int>(box.width()) - painter.fontMetrics().horizontalAdvance(hidden);
    painter.setPen(theme().text2);
    painter.drawText(
        box, Qt::AlignVCenter,
        painter.fontMetrics().elidedText(tr("Ops, %1").arg(name), Qt::ElideRight, room) + hidden);
    return;
  }
  painter.setPen(theme().text3);
  painter.drawText(
      box.adjusted(12, 0, 0, 0), Qt::AlignVCenter,
      below > 0 ? tr("depth %1, +%2").arg(depth).arg(below) : tr("depth %1").arg(depth));
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
      const std::int64_t endNs = store_->completeUpToNs();
      if (endMark(*store_) && std::abs(endNs - at) <= 2 * slack) {
        return EventRef{Lane::kMarkers, static_cast<std::uint32_t>(markers.size())};
      }
      return std::nullopt;
    }
    if (row.lane == Lane::kOps) {
      return opAt(row, at, slack);
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

std::optional<EventRef> TimelinePane::opAt(const LaneRows::Row& row, std::int64_t at,
                                           std::int64_t slack) const {
  const auto lane = store_->ops().lanes.find(row.ops.key);
  if (lane == store_->ops().lanes.end()) {
    return std::nullopt;
  }
  const auto found = lane->second.at(at, slack);
  return found ? std::optional(EventRef{Lane::kOps, lane->second[*found].payload}) : std::nullopt;
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

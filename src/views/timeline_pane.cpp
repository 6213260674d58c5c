#include "views/timeline_pane.h"

#include <QAction>
#include <QToolButton>
#include <algorithm>
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

/// A name that is cut keeps its end: "pt_autograd_0" and "pt_autograd_1" differ there.
void TimelinePane::paintOpLabel(QPainter& painter, const LaneRows::Row& row,
                                const QRectF& box) const {
  const auto [thread, depth] = row.ops.key;
  const int below = row.ops.hiddenBelow;
  const QString hidden = below > 0 ? tr(" +%1").arg(below) : QString();
  const QRectF line = depth == 0 ? box : box.adjusted(12, 0, 0, 0);
  if (depth == 0) {
    painter.fillRect(QRectF(0, row.top - 1, measures().gutter, 1), theme().grid);
  }
  const QString text = depth == 0
                           ? tr("Ops, %1").arg(QString::fromStdString(store_->threadName(thread)))
                           : tr("depth %1").arg(depth);
  const QFontMetrics metrics = painter.fontMetrics();
  const int room = static_cast<int>(line.width()) - metrics.horizontalAdvance(hidden);
  painter.setPen(depth == 0 ? theme().text2 : theme().text3);
  painter.drawText(line, Qt::AlignVCenter,
                   metrics.elidedText(text, Qt::ElideMiddle, room) + hidden);
}

const LaneRows::Row* TimelinePane::rowAt(int y) const {
  const auto found = std::find_if(
      rows_.rows.begin(), rows_.rows.end(),
      [y](const LaneRows::Row& row) { return y >= row.top && y < row.top + row.height; });
  return found == rows_.rows.end() ? nullptr : &*found;
}

QString TimelinePane::gutterTipAt(const QPoint& position) const {
  const LaneRows::Row* row = rowAt(position.y());
  if (!row) {
    return {};
  }
  switch (row->lane) {
    case Lane::kSteps:
      return tr("Steps of the training");
    case Lane::kPhases:
      return tr("What the host does in a step: its phases");
    case Lane::kSyncPoints:
      return tr("Where the host waits for the device\n▽ planned, ▼ unplanned");
    case Lane::kFallbacks:
      return tr("◆ Ops that run on the CPU, for want of a kernel of the device");
    case Lane::kMarkers:
      return tr("Changes of knobs, notes, and what befell the run");
    case Lane::kOps:
      break;
  }
  const auto [thread, depth] = row->ops.key;
  QString tip = tr("Ops of thread %1").arg(QString::fromStdString(store_->threadName(thread)));
  if (depth > 0) {
    tip += tr(", at depth %1: within others").arg(depth);
  }
  if (row->ops.hiddenBelow > 0) {
    tip += QLatin1Char('\n') +
           tr("%1 deeper not shown: a larger window shows more").arg(row->ops.hiddenBelow);
  }
  return tip;
}

std::optional<EventRef> TimelinePane::eventAt(const QPoint& position) const {
  const LaneRows::Row* row = rowAt(position.y());
  if (!row || position.x() < plotRect().left()) {
    return std::nullopt;
  }
  const TimeScale s = scale();
  const std::int64_t at = s.timeAt(position.x() + 0.5);
  const auto slack = static_cast<std::int64_t>(kSlackPixels * s.nsPerPixel());
  if (row->lane == Lane::kMarkers) {
    return markerAt(at, slack);
  }
  if (row->lane == Lane::kOps) {
    return opAt(*row, at, slack);
  }
  const analysis::SpanIndex& spans = row->lane == Lane::kSteps        ? store_->steps().lane
                                     : row->lane == Lane::kPhases     ? store_->phaseLane()
                                     : row->lane == Lane::kSyncPoints ? store_->syncLane()
                                                                      : store_->fallbackLane();
  const auto found = spans.at(at, slack);
  return found ? std::optional(EventRef{row->lane, spans[*found].payload}) : std::nullopt;
}

std::optional<EventRef> TimelinePane::markerAt(std::int64_t at, std::int64_t slack) const {
  const auto& markers = store_->markers();
  for (std::size_t i = 0; i < markers.size(); ++i) {
    if (std::abs(markers[i].time_ns() - at) <= slack) {
      return EventRef{Lane::kMarkers, static_cast<std::uint32_t>(i)};
    }
  }
  if (endMark(*store_) && std::abs(store_->completeUpToNs() - at) <= 2 * slack) {
    return EventRef{Lane::kMarkers, static_cast<std::uint32_t>(markers.size())};
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

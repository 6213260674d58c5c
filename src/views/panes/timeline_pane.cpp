#include "views/panes/timeline_pane.h"

#include <QAction>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "views/panels/link_button.h"

namespace highwater::views {
namespace {

/// Shorter phases, in pixels, are mostly merged into columns.
constexpr double kLeastBox = 3;

}  // namespace

TimelinePane::TimelinePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                           QWidget* parent)
    : TimePane(store, axis, focus, parent),
      lanes_(new TimelineLanes(this, store, focus)),
      showOps_(linkButton(tr("Show"), "showOpsButton", this)),
      offer_(linkButton({}, "offerOpsButton", this)) {
  showOps_->setToolTip(tr("Zoom to the steps whose ops were recorded"));
  showOps_->hide();
  offer_->hide();
  connect(showOps_, &QToolButton::clicked, this, &TimelinePane::showRecordedOps);
  connect(offer_, &QToolButton::clicked, this, [this] {
    if (offered_) {
      offered_->trigger();
    }
  });
  setObjectName(QStringLiteral("timelinePane"));
  setAccessibleName(tr("Timeline of steps, phases, ops, sync points, fallbacks and markers"));
  connect(focus_, &EventFocus::changed, this, &TimelinePane::scheduleReplot);
  TimelinePane::setMeasures({});
}

void TimelinePane::refresh() {
  if (currentRows().rows != rows_.rows) layOut();
  updateOffer();
  TimePane::refresh();
}

void TimelinePane::setMeasures(const PaneMeasures& measures) {
  TimePane::setMeasures(measures);
  axisRect()->setMargins(QMargins(measures.gutter, measures.header, measures.rightInset, 1));
  layOut();
}

void TimelinePane::offerOps(QAction* action, const QString& again) {
  offered_ = action;
  again_ = again;
  updateOffer();
}

void TimelinePane::updateOffer() {
  const QString before = opsText();
  const bool recorded = recordedSteps().has_value();
  const QString text = !offered_ ? QString() : recorded ? again_ : offered_->text();
  const bool same = text == offer_->text() && before == offerText_ &&
                    showOps_->isHidden() != recorded && offer_->isHidden() == text.isEmpty();
  if (same) {
    return;
  }
  offerText_ = before;
  offer_->setText(text);
  offer_->setToolTip(offered_ ? offered_->toolTip() : QString());
  offer_->setVisible(!text.isEmpty());
  showOps_->setVisible(recorded);
  const QFontMetricsF metrics(textFont(kText));
  int x = measures().gutter + static_cast<int>(metrics.horizontalAdvance(before)) + 14;
  for (QToolButton* each : {showOps_, offer_}) {
    each->adjustSize();
    each->move(x, 13 - each->height() / 2);
    x += each->isHidden() ? 0 : each->width() + 4;
  }
  scheduleOverlay();
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> TimelinePane::recordedSteps() const {
  const auto& markers = store_->markers();
  std::optional<std::uint32_t> first;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> newest;
  for (const events::Marker& each : markers) {
    if (each.kind() != events::MarkerKind::ProbeLevel) {
      continue;
    }
    const bool starts =
        static_cast<int>(each.value_after()) == static_cast<int>(events::ProbeLevel::Ops);
    if (!starts && first && each.step() > *first) {
      newest = std::pair(*first, each.step() - 1);
    }
    first = starts ? std::optional(each.step()) : std::nullopt;
  }
  const bool goesOn = first && !store_->end();
  return store_->ops().empty() || goesOn ? std::nullopt : newest;
}

void TimelinePane::showRecordedOps() {
  const auto range = recordedSteps();
  if (!range) {
    return;
  }
  const auto& steps = store_->steps().records;
  const auto from = std::find_if(steps.begin(), steps.end(), [&](const events::StepRecord& each) {
    return each.step() >= range->first;
  });
  auto until = from;
  while (until != steps.end() && until->step() <= range->second) {
    ++until;
  }
  if (until != from) {
    const TimeRange shown{from->begin_ns(), (until - 1)->begin_ns() + (until - 1)->duration_ns()};
    // Where a thread's events are late, the run is complete only up to an earlier time.
    const TimeRange extent = axis_->extent();
    axis_->setExtent({extent.beginNs, std::max(extent.endNs, shown.endNs)});
    axis_->zoomTo(shown);
  }
}

QString TimelinePane::opsText() const {
  if (const auto steps = recordedSteps()) {
    return steps->first == steps->second
               ? tr("Ops of step %1 were recorded").arg(steps->first)
               : tr("Ops of steps %1–%2 were recorded").arg(steps->first).arg(steps->second);
  }
  if (store_->run() && !store_->end() && store_->probeLevel() == events::ProbeLevel::Ops) {
    return tr("Every op is recorded");
  }
  return offered_ && store_->ops().empty() ? tr("Ops are not recorded at this level") : QString();
}

bool TimelinePane::mergesPhases() const {
  const TimeRange range = shownRange();
  const auto [first, last] = store_->phaseLane().touching(range.beginNs, range.endNs);
  return static_cast<double>(last - first) > scale().width / kLeastBox;
}

std::vector<Readout> TimelinePane::readouts() const {
  if (!offerText_.isEmpty()) {
    return {{Swatch::kNone, {}, offerText_, {}}};
  }
  if (mergesPhases()) {
    return {{Swatch::kNone, {}, tr("Zoomed out: each column shows shares of time"), {}}};
  }
  return {};
}

void TimelinePane::setMostOpRows(int most) {
  if (most != mostOpRows_) {
    mostOpRows_ = most;
    refresh();
  }
}

int TimelinePane::heightWithoutOps() const {
  return static_cast<int>(LaneRows::from(measures().header, measures().small, *store_).bottom()) +
         1;
}

LaneRows TimelinePane::currentRows() const {
  return LaneRows::from(measures().header, measures().small, *store_,
                        opLanes(store_->ops(), mostOpRows_));
}

void TimelinePane::layOut() {
  rows_ = currentRows();
  lanes_->setRows(rows_);
  setFixedHeight(static_cast<int>(rows_.bottom()) + 1);
}

void TimelinePane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  painter.setFont(textFont(kSmallText));
  const QFontMetrics metrics = painter.fontMetrics();
  for (const LaneRow& row : rows_.rows) {
    const RowLabel label = laneKind(row.lane).label(*store_, row);
    QRectF box(12, row.top, measures().gutter - 16, row.height);
    if (label.nested) {
      box.adjust(12, 0, 0, 0);
    } else {
      painter.fillRect(QRectF(0, row.top - 1, measures().gutter, 1), theme().grid);
    }
    const int room = static_cast<int>(box.width()) - metrics.horizontalAdvance(label.suffix);
    painter.setPen(label.nested ? theme().text3 : theme().text2);
    painter.drawText(box, Qt::AlignVCenter,
                     metrics.elidedText(label.text, Qt::ElideMiddle, room) + label.suffix);
    if (!label.note.isEmpty()) {
      box.setLeft(box.left() + metrics.horizontalAdvance(label.text) + 6);
      painter.setPen(theme().text3);
      painter.drawText(box, Qt::AlignVCenter, fitText(painter, label.note, box.width()));
    }
  }
}

const LaneRow* TimelinePane::rowAt(int y) const {
  const auto found = std::find_if(rows_.rows.begin(), rows_.rows.end(), [y](const LaneRow& row) {
    return y >= row.top && y < row.top + row.height;
  });
  return found == rows_.rows.end() ? nullptr : &*found;
}

QString TimelinePane::gutterTipAt(const QPoint& position) const {
  const LaneRow* row = rowAt(position.y());
  return row ? laneKind(row->lane).labelTip(*store_, *row) : QString();
}

std::optional<EventRef> TimelinePane::eventAt(const QPoint& position) const {
  const LaneRow* row = rowAt(position.y());
  if (!row || position.x() < plotRect().left()) {
    return std::nullopt;
  }
  const TimeScale s = scale();
  const auto slackNs = static_cast<std::int64_t>(kSlackPixels * s.nsPerPixel());
  const auto index = laneKind(row->lane).at(*store_, *row, s.timeAt(position.x() + 0.5), slackNs);
  return index ? std::optional(EventRef{row->lane, *index}) : std::nullopt;
}

void TimelinePane::clicked(const QPoint& position) {
  if (const auto event = eventAt(position)) {
    focus_->pick(*event);
  } else {
    focus_->clear();
  }
}

QString TimelinePane::tipAt(const QPoint& position) const {
  const LaneRow* row = rowAt(position.y());
  if (row && position.x() >= plotRect().left()) {
    const TimeScale s = scale();
    const double column = std::floor(position.x() - s.left);
    const auto beginNs =
        s.range.beginNs + static_cast<std::int64_t>(std::ceil(column * s.nsPerPixel()));
    const QString merged = laneKind(row->lane).mergedText(*store_, *row, beginNs, s.nsPerPixel());
    if (!merged.isEmpty()) {
      return merged;
    }
  }
  const auto event = eventAt(position);
  return event ? eventText(*store_, *event).joined() : QString();
}

QString TimelinePane::emptyText() const {
  return store_->steps().records.empty() && store_->phases().empty()
             ? tr("Steps and their phases, sync points, fallbacks and markers")
             : QString();
}

}  // namespace highwater::views

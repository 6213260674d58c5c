#include "views/panes/overview_pane.h"

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "views/panes/memory_bands.h"
#include "views/panes/search_marks.h"

namespace highwater::views {
namespace {

constexpr double kGripReach = 6;
constexpr int kAxisHeight = 16;
constexpr int kRefreshMs = 100;
constexpr double kNarrowestWindow = 8;  ///< pixels that can still be grabbed

}  // namespace

OverviewPane::OverviewPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                           QWidget* parent)
    : TimePane(store, axis, focus, parent) {
  setObjectName(QStringLiteral("overviewPane"));
  setAccessibleName(tr("Whole run"));
  refreshTimer_.setSingleShot(true);
  connect(&refreshTimer_, &QTimer::timeout, this, &OverviewPane::refresh);
  connect(axis_, &TimeAxis::extentChanged, this, &OverviewPane::refresh);
  OverviewPane::setMeasures({});
}

void OverviewPane::setMeasures(const PaneMeasures& measures) {
  PaneMeasures flat = measures;
  flat.header = 4;
  TimePane::setMeasures(flat);
  axisRect()->setMargins(QMargins(measures.gutter, 4, measures.rightInset, kAxisHeight + 2));
  setFixedHeight(measures.small ? 50 : 62);
}

void OverviewPane::refresh() {
  const qint64 passed = sinceRefresh_.isValid() ? sinceRefresh_.elapsed() : kRefreshMs;
  if (passed < kRefreshMs) {
    if (!refreshTimer_.isActive()) {
      refreshTimer_.start(static_cast<int>(kRefreshMs - passed));
    }
    return;
  }
  sinceRefresh_.start();
  scheduleReplot();
}

TimeRange OverviewPane::shownRange() const {
  const TimeRange run = axis_->extent();
  return {run.beginNs, std::max(run.endNs, run.beginNs + 1'000'000'000)};
}

QRectF OverviewPane::windowRect() const {
  const QRect plot = plotRect();
  const TimeScale s = scale();
  double left = std::max<double>(s.pixelAt(axis_->visible().beginNs), plot.left());
  double right = std::min<double>(s.pixelAt(axis_->visible().endNs), plot.right() + 1);
  if (right - left < kNarrowestWindow) {
    const double middle = std::clamp((left + right) / 2, plot.left() + kNarrowestWindow / 2,
                                     plot.right() + 1 - kNarrowestWindow / 2);
    left = middle - kNarrowestWindow / 2;
    right = left + kNarrowestWindow;
  }
  return QRectF(std::round(left), plot.top() - 2, std::round(right - left), plot.height() + 3.0);
}

void OverviewPane::paintGround(QPainter& painter) {
  const double ratio = painter.device()->devicePixelRatioF();
  const RunKey key{store_->revision(), size(), ratio, axis_->extent().endNs, &theme()};
  if (run_.isNull() || key != runKey_) {
    runKey_ = key;
    run_ = QPixmap(size() * ratio);
    run_.setDevicePixelRatio(ratio);
    run_.fill(Qt::transparent);
    QPainter onRun(&run_);
    paintRun(onRun);
  }
  painter.drawPixmap(0, 0, run_);
}

/// Memory over the whole run, or else the times of its steps.
void OverviewPane::paintRun(QPainter& painter) const {
  const QRect plot = plotRect();
  const auto columns = sampleMemory(*store_, scale(), painter.device()->devicePixelRatioF());
  double top = 1;
  for (const MemoryColumn& column : columns) {
    top = std::max({top, column.driver.max, column.current.max});
  }
  if (columns.empty()) {
    paintSteps(painter);
  }
  const double height = plot.height() - 2.0;
  drawMemoryBands(
      painter, columns, [&](double bytes) { return plot.bottom() + 1 - height * bytes / top; },
      plot.top(), theme(), false);
  painter.fillRect(QRectF(plot.left(), plot.bottom() + 1, plot.width(), 1), theme().strongLine);
}

/// Step times, for a device without memory counters.
void OverviewPane::paintSteps(QPainter& painter) const {
  const QRect plot = plotRect();
  const TimeScale s = scale();
  const auto& steps = store_->steps();
  const auto [first, last] = steps.lane.touching(s.range.beginNs, s.range.endNs);
  if (first == last) {
    return;
  }
  const double top = std::max(steps.durationMs.minMax(first, last).max, 1e-6);
  const double floor = plot.bottom() + 1, tall = plot.height() - 2.0;
  steps.lane.visible(s.range.beginNs, s.range.endNs, s.nsPerPixel(),
                     [&](const analysis::VisibleSpan& span) {
                       const std::size_t end = span.firstPayload + span.count;
                       const double ms = steps.durationMs.minMax(span.firstPayload, end).max;
                       const double x = std::round(s.pixelAt(span.beginNs));
                       const double width = std::round(s.pixelAt(span.endNs)) - x - 1;
                       const double height = std::round(tall * ms / top);
                       painter.fillRect(QRectF(x, floor - height, std::max(width, 1.0), height),
                                        theme().neutralBar);
                     });
}

void OverviewPane::paintMarkers(QPainter& painter) const {
  const QRect plot = plotRect();
  const TimeScale s = scale();
  double free = -1e9;
  for (const auto& marker : store_->markers()) {
    const double x = std::round(s.pixelAt(marker.time_ns()));
    if (x < free || x > plot.right()) {
      continue;
    }
    painter.fillRect(QRectF(x, plot.top() + 4, 1, plot.height() - 4), theme().text3);
    drawGlyph(painter, markerGlyph(marker.kind()), {x + 0.5, plot.top() + 3.0},
              markerColor(marker.kind(), theme()), theme().plot);
    free = x + 6;
  }
  if (endMark(*store_)) {
    const double x = std::min(s.pixelAt(store_->completeUpToNs()), plot.right() - 6.0);
    drawGlyph(painter, Glyph::kOctagon, {x, plot.top() + 6.0}, theme().vermillion, theme().plot);
  }
}

void OverviewPane::paintMarks(QPainter& painter) {
  const QRect plot = plotRect();
  const TimeScale s = scale();
  paintTitle(painter, tr("Whole run"), 2, 22);
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme().text2);
  const TimeRange run = axis_->extent();
  // By their numbers: while a large recording is read, only a part of its steps is here.
  const auto& records = store_->steps().records;
  const std::uint32_t steps =
      records.empty() ? 0 : records.back().step() - records.front().step() + 1;
  if (run.endNs > run.beginNs) {
    const QString count = steps == 1 ? tr("1 step") : tr("%1 steps").arg(steps);
    const QString length = QString::fromStdString(formatRunTime(run.endNs - run.beginNs, 0));
    painter.drawText(
        QRectF(12, 22, measures().gutter - 14, 16), Qt::AlignVCenter,
        fitText(painter, {length + QStringLiteral(", ") + count, count}, measures().gutter - 14));
    const TimeTicks ticks = timeTicks(s, 110);
    for (std::int64_t t = 0; t < s.range.endNs; t += ticks.majorNs) {
      const double x = std::round(s.pixelAt(t));
      const QString text = QString::fromStdString(formatRunTime(t, ticks.decimals));
      painter.fillRect(QRectF(x, plot.bottom() + 2, 1, 4), theme().strongLine);
      if (x + 44 < plot.right()) {
        painter.drawText(QRectF(x + 3, plot.bottom() + 2, 80, kAxisHeight), Qt::AlignVCenter, text);
      }
    }
    paintMarkers(painter);
    paintTints(painter, plot.top(), plot.bottom() + 1);
    if (axis_->pinned(Pin::kA) || axis_->pinned(Pin::kB)) {
      paintEdges(painter, plot.top(), plot.bottom() + 1);
    }
  }
}

void OverviewPane::showSearch(const models::SearchModel* search) {
  search_ = search;
  connect(search_, &models::SearchModel::changed, this, &OverviewPane::scheduleOverlay);
}

void OverviewPane::paintHits(QPainter& painter) const {
  if (!search_) {
    return;
  }
  const QRect plot = plotRect();
  for (const int x : hitColumns(search_->hits(), scale(), plot.left(), plot.right())) {
    painter.fillRect(QRect(x, 1, 1, 3), theme().accent);
  }
}

void OverviewPane::paintOverlay(QPainter& painter) {
  paintHits(painter);
  if (axis_->extent().endNs <= axis_->extent().beginNs) {
    return;
  }
  const QRectF window = windowRect();
  QColor tint = theme().accent;
  tint.setAlphaF(0.10f);
  painter.fillRect(window, tint);
  painter.setPen(QPen(theme().accent, 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(window.adjusted(0, 0, -1, -1));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme().accent);
  const double middle = window.center().y();
  painter.drawRoundedRect(QRectF(window.left() - 2, middle - 6, 5, 12), 2, 2);
  painter.drawRoundedRect(QRectF(window.right() - 3, middle - 6, 5, 12), 2, 2);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

OverviewPane::Grip OverviewPane::gripAt(double x) const {
  const QRectF window = windowRect();
  if (std::abs(x - window.left()) <= kGripReach) {
    return Grip::kLeft;
  }
  if (std::abs(x - window.right()) <= kGripReach) {
    return Grip::kRight;
  }
  return x > window.left() && x < window.right() ? Grip::kWindow : Grip::kNone;
}

void OverviewPane::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) {
    event->ignore();
    return;
  }
  grip_ = gripAt(event->position().x());
  if (grip_ == Grip::kNone) {
    const std::int64_t half = axis_->visibleNs() / 2;
    const std::int64_t at = scale().timeAt(event->position().x());
    axis_->setVisible({at - half, at + half});
    grip_ = Grip::kWindow;
  }
  pressedX_ = event->position().x();
  pressedRange_ = axis_->visible();
}

void OverviewPane::mouseMoveEvent(QMouseEvent* event) {
  if (grip_ == Grip::kNone) {
    const Grip grip = gripAt(event->position().x());
    setCursor(grip == Grip::kLeft || grip == Grip::kRight ? Qt::SizeHorCursor
              : grip == Grip::kWindow                     ? Qt::OpenHandCursor
                                                          : Qt::ArrowCursor);
    return;
  }
  const auto by =
      static_cast<std::int64_t>((event->position().x() - pressedX_) * scale().nsPerPixel());
  TimeRange range = pressedRange_;
  if (grip_ != Grip::kRight) {
    range.beginNs += by;
  }
  if (grip_ != Grip::kLeft) {
    range.endNs += by;
  }
  if (range.endNs - range.beginNs >= TimeAxis::kShortestNs) {
    axis_->setVisible(range);
  }
}

void OverviewPane::mouseReleaseEvent(QMouseEvent*) {
  grip_ = Grip::kNone;
}

void OverviewPane::mouseDoubleClickEvent(QMouseEvent*) {
  axis_->fit();
}

void OverviewPane::wheelEvent(QWheelEvent* event) {
  const auto [pixels, zoom] = wheel_.take(*event, plotRect().width());
  if (pixels != 0) {
    // By the scale of the other panes: a swipe moves their content as far as a swipe over them.
    axis_->pan(static_cast<std::int64_t>(-pixels * static_cast<double>(axis_->visibleNs()) /
                                         std::max(plotRect().width(), 1)));
  }
  if (zoom != 1) {
    axis_->zoom(zoom, zoomCentre(0));
  }
  event->accept();
}

/// The middle of the window in it, wherever the mouse is.
std::int64_t OverviewPane::zoomCentre(std::int64_t) const {
  return axis_->visible().beginNs + axis_->visibleNs() / 2;
}

}  // namespace highwater::views

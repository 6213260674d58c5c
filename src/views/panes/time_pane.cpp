#include "views/panes/time_pane.h"

#include <QCursor>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "core/event_kinds.h"
#include "models/plain_tip.h"
#include "views/panes/pane_picture.h"

namespace highwater::views {
namespace {

constexpr double kReadoutGap = 18;

/// Leaves out readouts until the others fit into `room`: the highest rank first, and the last of
/// equal ones.
template <typename WidthOf>
std::vector<Readout> fitting(std::vector<Readout> items, double room, WidthOf&& widthOf) {
  double width = -kReadoutGap;
  for (const Readout& each : items) width += widthOf(each) + kReadoutGap;
  while (width > room && !items.empty()) {
    const auto least =
        std::max_element(items.rbegin(), items.rend(),
                         [](const Readout& a, const Readout& b) { return a.rank < b.rank; });
    width -= widthOf(*least) + kReadoutGap;
    items.erase(std::next(least).base());
  }
  return items;
}

constexpr int kHeaderText = 26;
constexpr int kClickSlack = 4;    ///< a mouse that moves further, in pixels, drags
constexpr double kEdgeReach = 5;  ///< pixels beside an edge of the selection where it is grabbed

void styleAxes(QCustomPlot& plot) {
  for (QCPAxis* axis : {plot.xAxis, plot.yAxis, plot.xAxis2, plot.yAxis2}) {
    axis->setVisible(false);
    axis->setTicks(false);  // or QCustomPlot computes them all the same
    axis->setTickLabels(false);
    axis->grid()->setVisible(false);
  }
  plot.axisRect()->setAutoMargins(QCP::msNone);
  plot.axisRect()->setMinimumMargins(QMargins());
  plot.plotLayout()->setMargins(QMargins());
  plot.axisRect()->setMinimumSize(1, 1);
  plot.setInteractions({});
}

}  // namespace

TimePane::TimePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                   QWidget* parent)
    : QCustomPlot(parent), store_(store), axis_(axis), focus_(focus) {
  styleAxes(*this);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  // Only pictures have something on it, so it needs no buffer of its own to clear and to blend.
  layer(QStringLiteral("overlay"))->setMode(QCPLayer::lmLogical);
  new PaintLayerable(this, QStringLiteral("grid"), [this](QPainter& p) { paintGround(p); });
  new PaintLayerable(this, QStringLiteral("axes"), [this](QPainter& p) {
    paintMarks(p);
    if (hasMarkLines()) {
      paintKnobLines(p);
      paintEndLine(p);
      paintEdges(p, 0, height());
    }
  });
  // On screen paintEvent() paints the overlay; this is for pictures that QCustomPlot makes.
  new PaintLayerable(this, QStringLiteral("overlay"), [this](QPainter& p) {
    if (!drawsToScreen_) {
      paintOverlay(p);
    }
  });

  connect(&axis_->frames(), &FrameClock::frame, this, &TimePane::drawStale);
  connect(axis_, &TimeAxis::visibleChanged, this, [this] { visibleRangeChanged(); });
  connect(axis_, &TimeAxis::selectionChanged, this, &TimePane::scheduleReplot);
  connect(axis_, &TimeAxis::pinsChanged, this, &TimePane::scheduleReplot);
  connect(axis_, &TimeAxis::cursorChanged, this, &TimePane::scheduleOverlay);
  TimePane::setMeasures({});
}

void TimePane::refresh() {
  scheduleReplot();
}

void TimePane::setMeasures(const PaneMeasures& measures) {
  measures_ = measures;
  axisRect()->setMargins(QMargins(measures.gutter, measures.header, measures.rightInset, 5));
  scheduleReplot();
}

TimeRange TimePane::shownRange() const {
  return axis_->visible();
}

TimeScale TimePane::scale() const {
  const QRect rect = plotRect();
  return {shownRange(), static_cast<double>(rect.left()),
          static_cast<double>(std::max(rect.width(), 1))};
}

QRect TimePane::plotRect() const {
  const QMargins m = axisRect()->margins();
  return rect().marginsRemoved(m);
}

void TimePane::renderNow() {
  drawAll();
}

void TimePane::drawAll() {
  stale_ = Stale::kNothing;
  // The window may have moved to a screen with another pixel ratio.
  if (!qFuzzyCompare(bufferDevicePixelRatio(), devicePixelRatioF())) {
    setBufferDevicePixelRatio(devicePixelRatioF());
  }
  const TimeRange range = shownRange();
  xAxis->setRange(static_cast<double>(range.beginNs), static_cast<double>(range.endNs));
  setBackground(QBrush(theme().plot));
  updateScales();
  drawsToScreen_ = true;
  replot(QCustomPlot::rpQueuedRefresh);
  drawsToScreen_ = false;
}

void TimePane::paintEvent(QPaintEvent* event) {
  QCustomPlot::paintEvent(event);
  QPainter painter(this);
  paintsHeader_ = event->region().intersects(QRect(0, 0, width(), kHeaderText));
  paintOverlay(painter);
  paintsHeader_ = true;
  // A part of the pane may be painted for another reason: the cursor is then where it was and here.
  paintedCursor_ =
      event->region().contains(rect()) ? QRegion(cursorColumn()) : paintedCursor_ + cursorColumn();
}

void TimePane::visibleRangeChanged() {
  // Data moves under a resting mouse: cursor and tooltip stay with the mouse.
  if (axis_->cursor() && underMouse()) {
    const QPoint mouse = mapFromGlobal(QCursor::pos());
    axis_->setCursor(scale().timeAt(mouse.x()));
    if (QToolTip::isVisible()) {
      showTip(mouse);
    }
  }
  scheduleReplot();
}

void TimePane::outdate(Stale part) {
  stale_ = std::max(stale_, part);
  axis_->frames().request();
}

void TimePane::scheduleReplot() {
  outdate(Stale::kAll);
}

void TimePane::scheduleOverlay() {
  outdate(Stale::kOverlay);
}

void TimePane::drawStale() {
  if (stale_ == Stale::kNothing || !isVisible()) {
    return;  // a hidden pane is drawn when it is shown
  }
  if (stale_ == Stale::kAll) {
    drawAll();
  } else {
    stale_ = Stale::kNothing;
    update(overlayRegion());
  }
}

std::int64_t TimePane::readoutTime() const {
  std::int64_t newestNs = axis_->extent().endNs;
  if (store_->end() && !store_->steps().records.empty()) {
    // At the end of a run its tensors are freed. An evaluation after the last step is part of it.
    newestNs = endNsOf(store_->steps().records.back());
    for (const analysis::SpanIndex* lane : {&store_->phaseLane(), &store_->namedLane()}) {
      if (!lane->empty()) newestNs = std::max(newestNs, (*lane)[lane->size() - 1].endNs);
    }
  }
  return std::min(axis_->cursor().value_or(newestNs), axis_->extent().endNs);
}

std::optional<std::size_t> TimePane::stepAt(std::int64_t ns) const {
  const auto& records = store_->steps().records;
  const auto after = std::upper_bound(
      records.begin(), records.end(), ns,
      [](std::int64_t t, const events::StepRecord& step) { return t < step.begin_ns(); });
  if (after == records.begin()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(after - records.begin() - 1);
}

QRegion TimePane::overlayRegion() {
  // Also where the cursor was.
  QRegion stale = paintedCursor_;
  Header header{readouts(), rightReadout()};
  if (header != shownHeader_) {
    shownHeader_ = std::move(header);
    stale += QRect(0, 0, width(), kHeaderText);
  }
  return stale + cursorColumn();
}

QRect TimePane::cursorColumn() const {
  if (!axis_->cursor()) {
    return {};
  }
  constexpr int kReach = 2;
  const int x = static_cast<int>(std::lround(
      std::clamp(scale().pixelAt(*axis_->cursor()), 0.0, static_cast<double>(width()))));
  return {x - kReach, 0, 2 * kReach + 1, height()};
}

void TimePane::paintGround(QPainter& painter) {
  const QRect plot = plotRect();
  const TimeScale s = scale();
  const TimeTicks ticks = timeTicks(s, 90);
  for (std::int64_t t = s.range.beginNs / ticks.majorNs * ticks.majorNs; t < s.range.endNs;
       t += ticks.majorNs) {
    const double x = std::round(s.pixelAt(t));
    if (x >= plot.left()) {
      painter.fillRect(QRectF(x, plot.top(), 1, plot.height()), theme().grid);
    }
  }
  paintTints(painter, 0, height());
}

void TimePane::paintMarks(QPainter& painter) {
  // At the top, because QCustomPlot clips the lowest row of pixels.
  painter.fillRect(QRectF(0, 0, width(), 1), theme().separator);
}

void TimePane::paintKnobLines(QPainter& painter) const {
  const QRect plot = plotRect();
  const TimeScale s = scale();
  QPen pen(theme().text3, 1);
  pen.setDashPattern({2, 3});
  painter.setPen(pen);
  double last = -10;
  for (const auto& marker : store_->markers()) {
    if (markerGlyph(marker.kind()) != Glyph::kPentagon || marker.time_ns() < s.range.beginNs ||
        marker.time_ns() > s.range.endNs) {
      continue;
    }
    const double x = std::round(s.pixelAt(marker.time_ns()));
    if (x - last >= 3) {
      painter.drawLine(QPointF(x, plot.top()), QPointF(x, height()));
      last = x;
    }
  }
}

void TimePane::paintEndLine(QPainter& painter) const {
  if (!endMark(*store_)) {
    return;
  }
  const QRect plot = plotRect();
  const double x = std::round(scale().pixelAt(store_->completeUpToNs()));
  if (x >= plot.left() && x <= plot.right()) {
    painter.fillRect(QRectF(x, plot.top(), 1, height() - plot.top()), theme().vermillion);
  }
}

void TimePane::paintTints(QPainter& painter, double top, double bottom) const {
  const QRect plot = plotRect();
  const TimeScale s = scale();
  // Every range is tinted alike: edges and flags tell them apart.
  for (const auto& range : {axis_->selection(), axis_->pinned(Pin::kA), axis_->pinned(Pin::kB)}) {
    if (!range) {
      continue;
    }
    const double left = std::max<double>(plot.left(), s.pixelAt(range->beginNs));
    const double right = std::min<double>(plot.right() + 1, s.pixelAt(range->endNs));
    if (right > left) {
      painter.fillRect(QRectF(left, top, right - left, bottom - top), theme().selectionTint);
    }
  }
}

void TimePane::paintEdges(QPainter& painter, double top, double bottom) const {
  const QRect plot = plotRect();
  const auto paint = [&](const std::optional<TimeRange>& range, bool dashed) {
    if (!range) {
      return;
    }
    for (const std::int64_t edge : {range->beginNs, range->endNs}) {
      const double x = std::round(scale().pixelAt(edge));
      if (x < plot.left() || x > plot.right() + 1) {
        continue;
      }
      if (!dashed) {
        painter.fillRect(QRectF(x, top, 1, bottom - top), theme().accent);
        continue;
      }
      for (double y = top; y < bottom; y += 7) {
        painter.fillRect(QRectF(x, y, 1, std::min(4.0, bottom - y)), theme().accent);
      }
    }
  };
  paint(axis_->selection(), false);
  paint(axis_->pinned(Pin::kA), true);
  paint(axis_->pinned(Pin::kB), false);
}

void TimePane::paintCursorLine(QPainter& painter, double top, double bottom) const {
  if (!axis_->cursor()) {
    return;
  }
  const QRect plot = plotRect();
  const double x = std::round(scale().pixelAt(*axis_->cursor()));
  if (x >= plot.left() && x <= plot.right() + 1) {
    painter.fillRect(QRectF(x, top, 1, bottom - top), theme().text1);
  }
}

void TimePane::paintOverlay(QPainter& painter) {
  paintCursorLine(painter, 0, height());
  paintHeader(painter);
  paintEmpty(painter);
}

void TimePane::paintTitle(QPainter& painter, const QString& text, double top, double height) const {
  painter.setFont(textFont(kText, true));
  painter.setPen(theme().text1);
  painter.drawText(QRectF(12, top, measures_.gutter - 12, height), Qt::AlignLeft | Qt::AlignVCenter,
                   text);
}

void TimePane::paintGutterLabel(QPainter& painter, double y, const QString& text) const {
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme().text2);
  painter.drawText(QRectF(0, y - 8, measures_.gutter - 8, 16), Qt::AlignRight | Qt::AlignVCenter,
                   text);
}

void TimePane::paintHeader(QPainter& painter) const {
  if (title().isEmpty() || !paintsHeader_) {
    return;
  }
  const double height = kHeaderText;
  paintTitle(painter, title(), 0, height);
  const QRect plot = plotRect();
  const QFont label = textFont(kText), value = textFont(kText, true);
  const QFontMetricsF labelMetrics(label), valueMetrics(value);
  const auto ground = [&](double left, double width) {
    painter.fillRect(QRectF(left, 4, width, height - 8), theme().plot);
  };
  const QString right = rightReadout();
  const double rightWidth = right.isEmpty() ? 0 : labelMetrics.horizontalAdvance(right);
  const auto widthOf = [&](const Readout& item) {
    return (item.swatch == Swatch::kNone ? 0 : 16) + labelMetrics.horizontalAdvance(item.label) +
           8 + valueMetrics.horizontalAdvance(item.value);
  };
  double x = plot.left();
  for (const Readout& item : fitting(readouts(), plot.right() - rightWidth - 12 - x, widthOf)) {
    const double mark = item.swatch == Swatch::kNone ? 0 : 16;
    const double labelWidth = labelMetrics.horizontalAdvance(item.label);
    const double valueWidth = valueMetrics.horizontalAdvance(item.value);
    const double width = widthOf(item);
    ground(x - 2, width + 6);
    drawSwatch(painter, item.swatch, QRectF(x, height / 2 - 5, 10, 10), item.color, theme());
    painter.setFont(label);
    painter.setPen(theme().text2);
    painter.drawText(QRectF(x + mark, 0, labelWidth + 2, height), Qt::AlignVCenter, item.label);
    painter.setFont(value);
    painter.setPen(theme().text1);
    painter.drawText(QRectF(x + mark + labelWidth + 8, 0, valueWidth + 4, height), Qt::AlignVCenter,
                     item.value);
    x += width + kReadoutGap;
  }
  if (rightWidth > 0) {
    ground(plot.right() - rightWidth - 4, rightWidth + 5);
    painter.setFont(label);
    painter.setPen(theme().text2);
    painter.drawText(QRectF(plot.right() - rightWidth - 1, 0, rightWidth + 2, height),
                     Qt::AlignVCenter | Qt::AlignRight, right);
  }
}

void TimePane::paintEmpty(QPainter& painter) const {
  const QString text = emptyText();
  if (text.isEmpty()) {
    return;
  }
  painter.setFont(textFont(kText));
  painter.setPen(theme().text3);
  painter.drawText(plotRect(), Qt::AlignCenter | Qt::TextWordWrap, text);
}

QString TimePane::tipAt(const QPoint&) const {
  return {};
}

void TimePane::clicked(const QPoint&) {
  focus_->clear();
}

void TimePane::wheelEvent(QWheelEvent* event) {
  const auto [pixels, zoom] = wheel_.take(*event, plotRect().width());
  if (pixels != 0) {
    axis_->pan(static_cast<std::int64_t>(-pixels * scale().nsPerPixel()));
  }
  if (zoom != 1) {
    axis_->zoom(zoom, scale().timeAt(event->position().x()));
  }
  axis_->setCursor(scale().timeAt(event->position().x()));
  event->accept();
}

std::int64_t TimePane::timeInPlot(double x) const {
  const QRect plot = plotRect();
  return scale().timeAt(std::clamp<double>(x, plot.left(), plot.right() + 1.0));
}

std::optional<std::int64_t> TimePane::oppositeEdge(double x) const {
  const auto& selection = axis_->selection();
  if (!selection) {
    return std::nullopt;
  }
  const double left = std::abs(scale().pixelAt(selection->beginNs) - x);
  const double right = std::abs(scale().pixelAt(selection->endNs) - x);
  if (std::min(left, right) > kEdgeReach) {
    return std::nullopt;
  }
  return left < right ? selection->endNs : selection->beginNs;
}

void TimePane::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) {
    event->ignore();
    return;
  }
  if (drag_ != Drag::kNone) {
    return;  // a second button changes nothing about the drag of the first
  }
  pressed_ = event->pos();
  moved_ = false;
  dragButton_ = event->button();
  dragVisible_ = axis_->visible();
  const bool pans =
      dragButton_ == Qt::MiddleButton || event->modifiers().testFlag(Qt::ShiftModifier);
  drag_ = pans ? Drag::kPan : Drag::kSelect;
  dragTime_ = oppositeEdge(event->position().x()).value_or(timeInPlot(event->position().x()));
}

void TimePane::mouseMoveEvent(QMouseEvent* event) {
  const QRect plot = plotRect();
  const bool inside = event->pos().x() >= plot.left() && event->pos().x() <= plot.right();
  if (drag_ != Drag::kNone &&
      (moved_ || (event->pos() - pressed_).manhattanLength() > kClickSlack)) {
    moved_ = true;
    if (drag_ == Drag::kSelect) {
      setCursor(Qt::SizeHorCursor);
      axis_->select(dragTime_, timeInPlot(event->position().x()));
    } else {
      const TimeScale start{dragVisible_, static_cast<double>(plot.left()),
                            static_cast<double>(std::max(plot.width(), 1))};
      const auto by =
          static_cast<std::int64_t>((event->position().x() - pressed_.x()) * start.nsPerPixel());
      setCursor(Qt::ClosedHandCursor);
      axis_->setVisible({dragVisible_.beginNs - by, dragVisible_.endNs - by});
    }
  } else if (drag_ == Drag::kNone) {
    updateMouseCursor(event->position().x());
  }
  axis_->setCursor(inside ? std::optional(scale().timeAt(event->position().x())) : std::nullopt);
  showTip(event->pos());
}

void TimePane::updateMouseCursor(double x) {
  oppositeEdge(x) ? setCursor(Qt::SizeHorCursor) : unsetCursor();
}

void TimePane::showTip(const QPoint& position) {
  const QRect plot = plotRect();
  const bool inside = position.x() >= plot.left() && position.x() <= plot.right();
  const bool gutter = position.x() < plot.left();
  const QString tip = drag_ != Drag::kNone ? QString()
                      : inside             ? tipAt(position)
                      : gutter             ? gutterTipAt(position)
                                           : QString();
  if (tip.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(mapToGlobal(position) + QPoint(8, 8), models::plainTip(tip), this);
  }
}

void TimePane::mouseReleaseEvent(QMouseEvent* event) {
  if (drag_ == Drag::kNone || event->button() != dragButton_) {
    event->ignore();
    return;
  }
  const bool click = dragButton_ == Qt::LeftButton && !moved_;
  drag_ = Drag::kNone;
  updateMouseCursor(event->position().x());
  if (click) {
    clicked(event->pos());
  }
}

void TimePane::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) {
    mousePressEvent(event);  // a second middle press pans like the first
    return;
  }
  const std::int64_t at = scale().timeAt(event->position().x());
  const auto index = stepAt(at);
  if (!index) return;
  const auto& step = store_->steps().records[*index];
  const std::int64_t endNs = step.begin_ns() + step.duration_ns();
  // Not in the gap after it. A step that is narrower than a pixel is meant in all of that pixel.
  if (at < std::max(endNs, step.begin_ns() + scale().timeAt(1) - scale().timeAt(0))) {
    axis_->select(step.begin_ns(), endNs);
  }
}

void TimePane::contextMenuEvent(QContextMenuEvent* event) {
  showPictureMenu(*this, event->globalPos());
}

void TimePane::leaveEvent(QEvent* event) {
  axis_->setCursor(std::nullopt);
  QCustomPlot::leaveEvent(event);
}

void TimePane::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
      event->type() == QEvent::StyleChange) {
    scheduleReplot();
  }
  QCustomPlot::changeEvent(event);
}

bool TimePane::event(QEvent* event) {
  if (event->type() == QEvent::NativeGesture) {
    if (takeGesture(static_cast<QNativeGestureEvent&>(*event))) {
      event->accept();
      return true;
    }
  }
  return QCustomPlot::event(event);
}

bool TimePane::takeGesture(const QNativeGestureEvent& gesture) {
  const std::int64_t at = scale().timeAt(gesture.position().x());
  switch (gesture.gestureType()) {
    case Qt::BeginNativeGesture:
    case Qt::EndNativeGesture:
      return true;
    case Qt::ZoomNativeGesture:
      axis_->zoom(wheel_.pinch(gesture.value()), zoomCentre(at));
      return true;
    case Qt::SmartZoomNativeGesture: {
      const auto index = stepAt(at);
      const auto [beginNs, endNs] = axis_->visible();
      bool zoomed = false;
      if (index) {
        const auto& step = store_->steps().records[*index];
        const std::int64_t stepEndNs = step.begin_ns() + step.duration_ns();
        if (at < stepEndNs) {
          axis_->zoomTo({step.begin_ns(), stepEndNs});
          // On the step that fills the view already: back out.
          const TimeRange& now = axis_->visible();
          zoomed = now.beginNs != beginNs || now.endNs != endNs;
        }
      }
      if (!zoomed) axis_->fit();
      return true;
    }
    default:
      return false;
  }
}

void TimePane::resizeEvent(QResizeEvent* event) {
  QCustomPlot::resizeEvent(event);
  scheduleReplot();
}

void TimePane::showEvent(QShowEvent* event) {
  QCustomPlot::showEvent(event);
  if (stale_ != Stale::kNothing) {
    axis_->frames().request();
  }
}

}  // namespace highwater::views

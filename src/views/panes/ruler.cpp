#include "views/panes/ruler.h"

#include <cmath>

#include "core/units.h"
#include "views/panes/search_marks.h"

namespace highwater::views {
namespace {

constexpr double kFlag = 18;

QString timeText(std::int64_t ns, int decimals) {
  return QString::fromStdString(formatRunTime(ns, decimals));
}

}  // namespace

Ruler::Ruler(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus, QWidget* parent)
    : TimePane(store, axis, focus, parent) {
  setObjectName(QStringLiteral("ruler"));
  setAccessibleName(tr("Time ruler"));
  setFixedHeight(27);
  setToolTip({});
}

void Ruler::setMeasures(const PaneMeasures& measures) {
  PaneMeasures flat = measures;
  flat.header = 0;
  TimePane::setMeasures(flat);
  axisRect()->setMargins(QMargins(measures.gutter, 0, measures.rightInset, 1));
}

void Ruler::paintGround(QPainter& painter) {
  painter.fillRect(rect(), theme().panel);
  paintTints(painter, 0, height());
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme().text2);
  painter.drawText(QRectF(12, 0, 90, height() - 1), Qt::AlignVCenter, tr("Time"));
}

QRectF Ruler::cursorTag() const {
  if (!axis_->cursor() || *axis_->cursor() < axis_->visible().beginNs ||
      *axis_->cursor() > axis_->visible().endNs) {
    return {};
  }
  const QFontMetricsF metrics(textFont(kSmallText, true));
  const double width = metrics.horizontalAdvance(timeText(*axis_->cursor(), 3)) + 12;
  const QRect plot = plotRect();
  const double x = std::clamp(scale().pixelAt(*axis_->cursor()) - width / 2,
                              static_cast<double>(plot.left()) - 20, plot.right() + 12 - width);
  return {std::round(x), 3, width, height() - 7.0};
}

void Ruler::paintLabels(QPainter& painter) const {
  const QRect plot = plotRect();
  const TimeScale s = scale();
  const TimeTicks ticks = timeTicks(s, 90);
  const QRectF tag = cursorTag();
  painter.setFont(textFont(kSmallText));
  const QFontMetricsF metrics(painter.font());
  const std::int64_t first = s.range.beginNs / ticks.minorNs * ticks.minorNs;
  for (std::int64_t t = first; t < s.range.endNs; t += ticks.minorNs) {
    const double x = std::round(s.pixelAt(t));
    if (t < 0 || x < plot.left() || x > plot.right()) {
      continue;
    }
    const bool major = t % ticks.majorNs == 0;
    painter.fillRect(QRectF(x, height() - (major ? 9 : 5), 1, major ? 8 : 4), theme().strongLine);
    if (!major) {
      continue;
    }
    const QString text = timeText(t, ticks.decimals);
    const QRectF place(x + 4, 0, metrics.horizontalAdvance(text) + 2, height() - 1.0);
    bool free =
        place.right() < width() && !(tag.isValid() && place.adjusted(-4, 0, 4, 0).intersects(tag));
    for (const std::optional<TimeRange>& range :
         {axis_->selection(), axis_->pinned(Pin::kA), axis_->pinned(Pin::kB)}) {
      if (range) {
        for (const std::int64_t edge : {range->beginNs, range->endNs}) {
          const double at = s.pixelAt(edge);
          free = free && (at < place.left() - 4 || at > place.right() + 4);
        }
      }
    }
    for (const Pin pin : kPins) {
      free = free && !flagOf(pin).intersects(place.adjusted(-4, 0, 4, 0));
    }
    if (free) {
      painter.setPen(theme().text2);
      painter.drawText(place, Qt::AlignVCenter, text);
    }
  }
}

void Ruler::paintHandles(QPainter& painter) const {
  if (!axis_->selection()) {
    return;
  }
  const QRect plot = plotRect();
  painter.setRenderHint(QPainter::Antialiasing);
  for (const std::int64_t edge : {axis_->selection()->beginNs, axis_->selection()->endNs}) {
    const double x = std::round(scale().pixelAt(edge));
    if (x >= plot.left() && x <= plot.right() + 1) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(theme().accent);
      painter.drawRoundedRect(QRectF(x - 2, 7, 5, 12), 2, 2);
      painter.fillRect(QRectF(x, 0, 1, height()), theme().accent);
    }
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

QRectF Ruler::flagOf(Pin pin) const {
  const auto& range = axis_->pinned(pin);
  const QRect plot = plotRect();
  if (!range || range->endNs < axis_->visible().beginNs ||
      range->beginNs > axis_->visible().endNs) {
    return {};
  }
  // The flag of a range that begins before the view stays at its left edge.
  const double x = std::max<double>(std::round(scale().pixelAt(range->beginNs)), plot.left());
  return {x, (height() - kFlag) / 2.0 - 0.5, kFlag, kFlag};
}

void Ruler::paintFlags(QPainter& painter) const {
  for (const Pin pin : kPins) {
    const QRectF flag = flagOf(pin);
    if (flag.isNull()) {
      continue;
    }
    drawPin(painter, pin, flag, theme());
  }
}

void Ruler::showSearch(const models::SearchModel* search) {
  search_ = search;
  connect(search_, &models::SearchModel::changed, this, &Ruler::scheduleOverlay);
  connect(search_, &models::SearchModel::currentChanged, this, &Ruler::scheduleOverlay);
}

void Ruler::paintHits(QPainter& painter) const {
  if (!search_) {
    return;
  }
  const QRect plot = plotRect();
  for (const int x : hitColumns(search_->hits(), scale(), plot.left(), plot.right())) {
    painter.fillRect(QRect(x, height() - 6, 1, 5), theme().accent);
  }
  const auto current = search_->current();
  if (!current) {
    return;
  }
  const double x = std::floor(scale().pixelAt(search_->hits()[*current].timeNs)) + 0.5;
  if (x >= plot.left() && x <= plot.right() + 1) {
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme().accent);
    const double foot = height() - 6;
    painter.drawPolygon(QPolygonF{{x - 4.5, foot - 6}, {x + 4.5, foot - 6}, {x, foot}});
    painter.setRenderHint(QPainter::Antialiasing, false);
  }
}

void Ruler::paintOverlay(QPainter& painter) {
  paintLabels(painter);
  paintEdges(painter, 0, height());
  paintHits(painter);
  paintFlags(painter);
  paintHandles(painter);
  const QRectF tag = cursorTag();
  if (tag.isValid()) {
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme().text1);
    painter.drawRoundedRect(tag, 3, 3);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setFont(textFont(kSmallText, true));
    painter.setPen(theme().plot);
    painter.drawText(tag, Qt::AlignCenter, timeText(*axis_->cursor(), 3));
    paintCursorLine(painter, tag.bottom(), height());
  }
}

void Ruler::clicked(const QPoint&) {
  axis_->clearSelection();
}

}  // namespace highwater::views

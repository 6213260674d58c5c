#include "views/step_bars.h"

#include <algorithm>
#include <cmath>

namespace highwater::views {
namespace {

/// Below this many pixels a step, bars are drawn a column at a time.
constexpr double kNarrowest = 2.5;
/// A gap of so many pixels between steps interrupts the line.
constexpr double kPause = 4;

}  // namespace

void StepBars::draw(QCPPainter* painter) {
  const auto& steps = store_->steps();
  const TimeScale s = timeScale();
  const auto [first, last] = steps.lane.touching(s.range.beginNs, s.range.endNs);
  if (first == last) {
    return;
  }
  const Theme& theme = Theme::of(parentPlot());
  const double pixels =
      s.pixelAt(steps.lane[last - 1].endNs) - s.pixelAt(steps.lane[first].beginNs);
  if (pixels / static_cast<double>(last - first) >= kNarrowest) {
    for (std::size_t i = first; i < last; ++i) {
      drawBar(*painter,
              {std::round(s.pixelAt(steps.lane[i].beginNs)) + 1,
               std::round(s.pixelAt(steps.lane[i].endNs)), steps.durationMs[i], steps.fallbackMs[i],
               steps.unplannedSyncMs[i]},
              theme);
    }
    return;
  }
  std::size_t at = first;
  for (int column = 0; column < static_cast<int>(s.width) && at < last; ++column) {
    const double x = s.left + column;
    const std::int64_t end = s.timeAt(x + 1);
    // Gallop to the first step that begins in the next column.
    std::size_t low = at, high = at + 1;
    while (high < last && steps.lane[high].beginNs < end) {
      const std::size_t stride = (high - at) * 2;
      low = high;
      high = at + stride;
    }
    high = std::min(high, last);
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      (steps.lane[middle].beginNs < end ? low : high) = middle + (steps.lane[middle].beginNs < end);
    }
    if (low > at) {
      drawBar(*painter,
              {x, x + 1, steps.durationMs.minMax(at, low).max, steps.fallbackMs.minMax(at, low).max,
               steps.unplannedSyncMs.minMax(at, low).max},
              theme);
      at = low;
    }
  }
}

void StepBars::drawBar(QPainter& painter, const Bar& bar, const Theme& theme) const {
  const double width = std::max(bar.right - bar.left, 1.0);
  const auto y = [this](double ms) { return std::round(valueAxis()->coordToPixel(ms)); };
  const double floor = y(0), top = y(bar.ms);
  const double lostTop = y(std::min(bar.fallbackMs, bar.ms));
  const double syncTop = y(std::min(bar.fallbackMs + bar.syncMs, bar.ms));
  painter.fillRect(QRectF(bar.left, top, width, std::max(floor - top, 1.0)), theme.neutralBar);
  if (bar.syncMs > 0 && syncTop < lostTop) {
    painter.fillRect(QRectF(bar.left, syncTop, width, lostTop - syncTop), theme.orange);
  }
  if (bar.fallbackMs > 0 && lostTop < floor) {
    QColor line = theme.isDark ? theme.plot : QColor(Qt::white);
    line.setAlphaF(0.55f);
    painter.fillRect(QRectF(bar.left, lostTop, width, floor - lostTop), theme.vermillion);
    painter.fillRect(QRectF(bar.left, lostTop, width, floor - lostTop),
                     hatchBrush(line, Qt::transparent, 5));
    if (syncTop < lostTop) {
      painter.fillRect(QRectF(bar.left, lostTop, width, 1), theme.plot);
    }
  }
}

void RateLine::draw(QCPPainter* painter) {
  const auto& steps = store_->steps();
  const TimeScale s = timeScale();
  const auto [first, last] = steps.lane.touching(s.range.beginNs, s.range.endNs);
  if (first == last) {
    return;
  }
  painter->setBrush(Qt::NoBrush);
  const QColor color = Theme::of(parentPlot()).text1;
  const auto y = [this](double value) { return valueAxis()->coordToPixel(value); };
  if (static_cast<double>(last - first) > s.width) {
    std::size_t at = first;
    for (int column = 0; column < static_cast<int>(s.width) && at < last; ++column) {
      const std::int64_t end = s.timeAt(s.left + column + 1);
      const std::size_t begin = at;
      while (at < last && steps.lane[at].beginNs < end) {
        ++at;
      }
      if (at > begin) {
        const auto range = steps.tokensPerS.minMax(begin, at);
        const double top = y(range.max);
        painter->fillRect(QRectF(s.left + column, top, 1, std::max(1.5, y(range.min) - top)),
                          color);
      }
    }
    return;
  }
  // 1.5 px would be a thick pen; two thin ones half a pixel apart look the same and cost nothing.
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(QPen(color, 1));
  QPolygonF line;
  const auto flush = [&] {
    painter->drawPolyline(line);
    painter->drawPolyline(line.translated(0, 0.5));
    line.clear();
  };
  for (std::size_t i = first; i < last; ++i) {
    const double value = y(steps.tokensPerS[i]), begin = s.pixelAt(steps.lane[i].beginNs);
    if (!line.isEmpty() && begin - line.last().x() > kPause) {
      flush();  // nothing trained in between: no line either
    }
    line << QPointF(begin, value) << QPointF(s.pixelAt(steps.lane[i].endNs), value);
  }
  flush();
  painter->setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace highwater::views

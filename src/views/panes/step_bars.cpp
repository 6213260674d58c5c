#include "views/panes/step_bars.h"

#include <algorithm>
#include <cmath>

namespace highwater::views {
namespace {

/// With fewer pixels per step, one bar is drawn per pixel column.
constexpr double kNarrowest = 2.5;
/// A wider gap between steps, in pixels, interrupts the line.
constexpr double kPause = 4;

/// The first of the spans [from, last) that begins at `ns` or later. Uses exponential search, since
/// the next column is near.
std::size_t firstBeginningFrom(const analysis::SpanIndex& lane, std::size_t from, std::size_t last,
                               std::int64_t ns) {
  std::size_t low = from, stride = 1;
  while (low + stride < last && lane[low + stride].beginNs < ns) {
    low += stride;
    stride *= 2;
  }
  std::size_t high = std::min(low + stride, last);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (lane[middle].beginNs < ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

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
    const std::size_t low = firstBeginningFrom(steps.lane, at, last, end);
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
      at = firstBeginningFrom(steps.lane, at, last, end);
      const auto range = at > begin ? steps.tokensPerS.minMax(begin, at) : analysis::MinMax{};
      if (at > begin && !std::isnan(range.max)) {
        const double top = y(range.max);
        painter->fillRect(QRectF(s.left + column, top, 1, std::max(1.5, y(range.min) - top)),
                          color);
      }
    }
    return;
  }
  // Two thin lines half a pixel apart look like a pen of 1.5 pixels, which is slow.
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(QPen(color, 1));
  QPolygonF line;
  const auto flush = [&] {
    painter->drawPolyline(line);
    painter->drawPolyline(line.translated(0, 0.5));
    line.clear();
  };
  for (std::size_t i = first; i < last; ++i) {
    if (std::isnan(steps.tokensPerS[i])) {
      continue;  // a step without duration has no rate
    }
    const double value = y(steps.tokensPerS[i]), begin = s.pixelAt(steps.lane[i].beginNs);
    if (!line.isEmpty() && begin - line.last().x() > kPause) {
      flush();  // no training in between, so no line
    }
    line << QPointF(begin, value) << QPointF(s.pixelAt(steps.lane[i].endNs), value);
  }
  if (!line.isEmpty()) {
    flush();
  }
  painter->setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace highwater::views

#include "views/panes/step_bars.h"

#include <QImage>
#include <algorithm>
#include <cmath>
#include <limits>

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

/// The lines over the time of fallbacks.
QBrush fallbackHatch(const Theme& theme) {
  QColor line = theme.isDark ? theme.plot : QColor(Qt::white);
  line.setAlphaF(0.55f);
  return hatchBrush(line, Qt::transparent, 5);
}

/// The mark of a value above the axis, in pixels.
constexpr double kMarkHalf = 3.5, kMarkHeight = 4, kMarkGap = 9;

}  // namespace

bool StepPlottable::noteBeyondTop(double value, double x) {
  if (!(value > valueAxis()->range().upper)) {
    return false;
  }
  if (noted_.empty() || x - noted_.back() >= kMarkGap) {
    noted_.push_back(x);
  }
  return true;
}

void StepPlottable::drawBeyondTop(QPainter& painter) {
  const double top = keyAxis()->axisRect()->top() + 0.5;
  painter.setRenderHint(QPainter::Antialiasing);
  const Theme& theme = Theme::of(parentPlot());
  painter.setPen(QPen(theme.plot, 1));
  painter.setBrush(theme.text1);
  for (const double x : noted_) {
    painter.drawPolygon(QPolygonF{
        {x, top}, {x + kMarkHalf, top + kMarkHeight}, {x - kMarkHalf, top + kMarkHeight}});
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  beyondTop_ = std::move(noted_);
  noted_.clear();
}

/// The pixels of a plot in which a thousand narrow bars are filled and drawn at once: as many
/// rectangles cost more. One image pixel is a logical pixel, as all edges of bars are.
class StepBars::BarImage {
 public:
  explicit BarImage(const QRect& plot)
      : plot_(plot), image_(plot.size(), QImage::Format_ARGB32_Premultiplied) {
    image_.fill(Qt::transparent);
  }

  void fill(const QRectF& box, QRgb color, Ground ground) {
    const QRect inside = box.toRect() & plot_;
    const qsizetype line = image_.bytesPerLine() / qsizetype{sizeof(QRgb)};
    auto* pixels = reinterpret_cast<QRgb*>(image_.bits()) + (inside.top() - plot_.top()) * line +
                   (inside.left() - plot_.left());
    for (int y = 0; y < inside.height(); ++y, pixels += line) {
      std::fill(pixels, pixels + inside.width(), color);
    }
    if (ground == Ground::kHatched && !inside.isEmpty()) hatched_.push_back(inside);
  }

  void draw(QPainter& painter, const Theme& theme) const {
    painter.drawImage(QRectF(plot_), image_, QRectF(image_.rect()));
    const QBrush hatch = fallbackHatch(theme);
    for (const QRect& each : hatched_) painter.fillRect(each, hatch);
  }

 private:
  QRect plot_;
  QImage image_;
  std::vector<QRect> hatched_;
};

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
      eachPart({std::round(s.pixelAt(steps.lane[i].beginNs)) + 1,
                std::round(s.pixelAt(steps.lane[i].endNs)), steps.durationMs[i],
                steps.fallbackMs[i], steps.unplannedSyncMs[i]},
               theme, [&](const QRectF& box, const QColor& color, Ground ground) {
                 painter->fillRect(box, color);
                 if (ground == Ground::kHatched) painter->fillRect(box, fallbackHatch(theme));
               });
    }
    drawBeyondTop(*painter);
    return;
  }
  // Filled into an image: a thousand rectangles of a pixel's width cost more.
  BarImage image(keyAxis()->axisRect()->rect());
  const auto fill = [&](const QRectF& box, const QColor& color, Ground ground) {
    image.fill(box, color.rgb(), ground);
  };
  std::size_t at = first;
  for (int column = 0; column < static_cast<int>(s.width) && at < last; ++column) {
    const double x = s.left + column;
    const std::int64_t end = s.timeAt(x + 1);
    const std::size_t low = firstBeginningFrom(steps.lane, at, last, end);
    if (low > at) {
      // The last one may be a slow step, which goes on beyond its column.
      const std::int64_t slowEndNs = steps.lane[low - 1].endNs;
      const double slow = slowEndNs > end ? std::round(s.pixelAt(slowEndNs)) : x;
      if (slow > x + 1) {
        eachPart({x + 1, slow, steps.durationMs[low - 1], steps.fallbackMs[low - 1],
                  steps.unplannedSyncMs[low - 1]},
                 theme, fill);
      }
      eachPart({x, x + 1, steps.durationMs.minMax(at, low).max,
                steps.fallbackMs.minMax(at, low).max, steps.unplannedSyncMs.minMax(at, low).max},
               theme, fill);
      at = low;
    }
  }
  image.draw(*painter, theme);
  drawBeyondTop(*painter);
}

template <typename Fill>
void StepBars::eachPart(const Bar& bar, const Theme& theme, Fill&& fill) {
  const double width = std::max(bar.right - bar.left, 1.0);
  noteBeyondTop(bar.ms, std::floor(bar.left + width / 2) + 0.5);
  const auto y = [this](double ms) { return std::round(valueAxis()->coordToPixel(ms)); };
  const double floor = y(0), top = y(bar.ms);
  const double lostTop = y(std::min(bar.fallbackMs, bar.ms));
  const double syncTop = y(std::min(bar.fallbackMs + bar.syncMs, bar.ms));
  fill(QRectF(bar.left, top, width, std::max(floor - top, 1.0)), theme.neutralBar, Ground::kPlain);
  if (bar.syncMs > 0 && syncTop < lostTop) {
    fill(QRectF(bar.left, syncTop, width, lostTop - syncTop),
         waitsCostLittle ? theme.sky : theme.orange, Ground::kPlain);
  }
  if (bar.fallbackMs > 0 && lostTop < floor) {
    double fallbackTop = lostTop;
    if (syncTop < lostTop) {  // a line between the two
      fill(QRectF(bar.left, lostTop, width, 1), theme.plot, Ground::kPlain);
      ++fallbackTop;
    }
    fill(QRectF(bar.left, fallbackTop, width, floor - fallbackTop), theme.vermillion,
         Ground::kHatched);
  }
}

std::vector<LineColumn> lineColumns(const analysis::StepColumns& steps,
                                    const analysis::SeriesPyramid& values, const TimeScale& scale,
                                    double pausePixels) {
  std::vector<LineColumn> columns;
  const auto [first, last] = steps.lane.touching(scale.range.beginNs, scale.range.endNs);
  const auto pauseNs = static_cast<std::int64_t>(pausePixels * scale.nsPerPixel());
  double before = std::numeric_limits<double>::quiet_NaN();  // the line's value where it is now
  std::int64_t untilNs = std::numeric_limits<std::int64_t>::min();  // the end of its last step
  const int width = static_cast<int>(scale.width);
  std::size_t at = first;
  for (int column = 0; column < width && (at < last || !std::isnan(before)); ++column) {
    const std::int64_t beginNs = scale.timeAt(scale.left + column);
    const std::int64_t endNs = scale.timeAt(scale.left + column + 1);
    const std::size_t from = at;
    if (at < last) {
      at = firstBeginningFrom(steps.lane, at, last, endNs);
    }
    const bool begins = at > from && steps.lane[from].beginNs < endNs;
    at = begins ? at : from;
    const std::int64_t nextNs = begins ? steps.lane[from].beginNs : beginNs;
    if (!std::isnan(before) && nextNs - untilNs > pauseNs) {
      before = std::numeric_limits<double>::quiet_NaN();  // no training in between, so no line
    }
    auto shown = analysis::MinMax{before, before};
    if (begins) {
      const analysis::MinMax here = values.minMax(from, at);
      shown.min = std::fmin(shown.min, here.min);
      shown.max = std::fmax(shown.max, here.max);
      for (std::size_t i = at; i > from; --i) {
        if (!std::isnan(values[i - 1])) {
          before = values[i - 1];
          untilNs = std::max(untilNs, steps.lane[i - 1].endNs);
          break;
        }
      }
    }
    if (!std::isnan(shown.min)) {
      columns.push_back({column, shown.min, shown.max});
    }
  }
  return columns;
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
  if (static_cast<double>(last - first) <= s.width / 2) {
    drawEach(painter, first, last, color);
  } else {
    for (const LineColumn& column : lineColumns(steps, steps.tokensPerS, s, kPause)) {
      const double x = s.left + column.column;
      noteBeyondTop(column.high, x + 0.5);
      const double top = valueAxis()->coordToPixel(column.high);
      const double height = valueAxis()->coordToPixel(column.low) - top;
      painter->fillRect(QRectF(x, top, 1, std::max(1.5, height)), color);
    }
  }
  drawBeyondTop(*painter);
}

void RateLine::drawEach(QCPPainter* painter, std::size_t first, std::size_t last,
                        const QColor& color) {
  const auto& steps = store_->steps();
  const TimeScale s = timeScale();
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
    const double value = valueAxis()->coordToPixel(steps.tokensPerS[i]);
    const double begin = s.pixelAt(steps.lane[i].beginNs), end = s.pixelAt(steps.lane[i].endNs);
    if (!line.isEmpty() && begin - line.last().x() > kPause) {
      flush();  // no training in between, so no line
    }
    noteBeyondTop(steps.tokensPerS[i],
                  (std::max(begin, s.left) + std::min(end, s.left + s.width)) / 2);
    line << QPointF(begin, value) << QPointF(end, value);
  }
  if (!line.isEmpty()) {
    flush();
  }
  painter->setRenderHint(QPainter::Antialiasing, false);
}

void LossLine::draw(QCPPainter* painter) {
  const auto& steps = store_->steps();
  const TimeScale s = timeScale();
  auto [first, last] = steps.lane.touching(s.range.beginNs, s.range.endNs);
  // With a loss on either side, to which lines are drawn.
  constexpr std::size_t kFarthest = 1000;
  const auto known = [&steps](std::size_t i) { return !std::isnan(steps.loss[i]); };
  for (std::size_t far = 0; first > 0 && far < kFarthest; ++far) {
    if (known(--first)) break;
  }
  for (std::size_t far = 0; last < steps.lane.size() && far < kFarthest; ++far) {
    if (known(last++)) break;
  }
  if (first == last) {
    return;
  }
  const auto point = [&](std::size_t i) {
    return QPointF(s.pixelAt(steps.lane[i].endNs), valueAxis()->coordToPixel(steps.loss[i]));
  };
  const Theme& theme = Theme::of(parentPlot());
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(QPen(theme.text1, 1));
  painter->setBrush(theme.text1);
  QPolygonF line;
  if (static_cast<double>(last - first) > 2 * s.width) {
    // Of each pixel column the first, the lowest, the highest and the last loss.
    for (std::size_t at = first; at < last;) {
      const double x = std::floor(s.pixelAt(steps.lane[at].endNs));
      const std::size_t next =
          std::max(firstBeginningFrom(steps.lane, at, last, s.timeAt(x + 1)), at + 1);
      const analysis::MinMax range = steps.loss.minMax(at, next);
      if (!std::isnan(range.min)) {
        const double y = valueAxis()->coordToPixel(range.max);
        line << QPointF(x, y) << QPointF(x, valueAxis()->coordToPixel(range.min));
      }
      at = next;
    }
    painter->drawPolyline(line);
  } else {
    for (std::size_t i = first; i < last; ++i) {
      if (known(i)) {
        line << point(i);
      }
    }
    painter->drawPolyline(line);
    // Few of them are seen to be single readings.
    if (static_cast<double>(line.size()) < s.width / 12) {
      painter->setPen(Qt::NoPen);
      for (const QPointF& each : line) {
        painter->drawEllipse(each, 2, 2);
      }
    }
  }
  painter->setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace highwater::views

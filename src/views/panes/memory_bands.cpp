#include "views/panes/memory_bands.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace highwater::views {
namespace {

using analysis::MinMax;
using analysis::SeriesPyramid;

/// Reads one series from left to right. `times` and `series` have the same indices.
class ColumnReader {
 public:
  ColumnReader(const std::vector<std::int64_t>& times, const SeriesPyramid& series)
      : times_(times), series_(series) {}

  /// The extremes in [beginNs, endNs), or an interpolated value if there is no sample in it.
  MinMax read(std::int64_t beginNs, std::int64_t endNs) {
    const auto first = std::lower_bound(times_.begin() + at_, times_.end(), beginNs);
    const auto last = std::lower_bound(first, times_.end(), endNs);
    at_ = first - times_.begin();
    if (last > first) {
      return series_.minMax(static_cast<std::size_t>(at_),
                            static_cast<std::size_t>(last - times_.begin()));
    }
    if (first == times_.begin() || first == times_.end()) {
      constexpr double nan = std::numeric_limits<double>::quiet_NaN();
      return {nan, nan};
    }
    const auto i = static_cast<std::size_t>(at_);
    const double span = static_cast<double>(times_[i] - times_[i - 1]);
    const double share = span > 0 ? static_cast<double>(beginNs - times_[i - 1]) / span : 0;
    const double value = series_[i - 1] + (series_[i] - series_[i - 1]) * share;
    return {value, value};
  }

 private:
  const std::vector<std::int64_t>& times_;
  const SeriesPyramid& series_;
  std::ptrdiff_t at_ = 0;
};

/// The area between two edges, as one polygon from left to right and back.
template <typename Upper, typename Lower>
QPolygonF area(const std::vector<MemoryColumn>& columns, Upper&& upper, Lower&& lower) {
  QPolygonF polygon;
  polygon.reserve(static_cast<qsizetype>(columns.size()) * 2 + 4);
  for (const MemoryColumn& column : columns) {
    polygon << QPointF(column.x, upper(column));
  }
  polygon << QPointF(columns.back().x + 1, upper(columns.back()))
          << QPointF(columns.back().x + 1, lower(columns.back()));
  for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
    polygon << QPointF(column->x, lower(*column));
  }
  return polygon;
}

void drawHidden(QPainter& painter, const std::vector<MemoryColumn>& columns,
                const std::function<double(double)>& yAt, const Theme& theme) {
  const auto top = [&](const MemoryColumn& c) {
    return yAt(std::isnan(c.footprint) ? c.driver.max : std::max(c.footprint, c.driver.max));
  };
  painter.setPen(Qt::NoPen);
  painter.setBrush(dotBrush(theme.grey, 4));
  painter.drawPolygon(area(columns, top, [&](const MemoryColumn& c) { return yAt(c.driver.max); }));
  for (std::size_t i = 0; i < columns.size(); i += 3) {
    if (columns[i].footprint > columns[i].driver.max) {
      painter.fillRect(QRectF(columns[i].x, std::round(top(columns[i])), 1, 1), theme.text2);
    }
  }
}

}  // namespace

std::vector<MemoryColumn> sampleMemory(const analysis::LiveStore& store, const TimeScale& scale) {
  std::vector<MemoryColumn> columns;
  const auto& memory = store.memory();
  const auto& system = store.system();
  if (memory.timesNs.empty() || scale.width < 1) {
    return columns;
  }
  ColumnReader current(memory.timesNs, memory.current), driver(memory.timesNs, memory.driver);
  const auto count = static_cast<int>(scale.width);
  columns.reserve(static_cast<std::size_t>(count));
  double lastFootprint = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < count; ++i) {
    const double x = scale.left + i;
    const std::int64_t begin = scale.timeAt(x), end = scale.timeAt(x + 1);
    // A system reading is valid until the next one; there are at most ten per second.
    const auto next = std::upper_bound(system.timesNs.begin(), system.timesNs.end(), begin);
    if (next != system.timesNs.begin()) {
      lastFootprint = system.footprint[static_cast<std::size_t>(next - system.timesNs.begin() - 1)];
    }
    const MinMax now = current.read(begin, end);
    if (!std::isnan(now.min)) {
      columns.push_back({x, now, driver.read(begin, end), lastFootprint});
    }
  }
  return columns;
}

void drawMemoryBands(QPainter& painter, const std::vector<MemoryColumn>& columns,
                     const std::function<double(double)>& yAt, const Theme& theme,
                     bool withHidden) {
  if (columns.empty()) {
    return;
  }
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  if (withHidden) {
    drawHidden(painter, columns, yAt, theme);
  }
  const double floor = yAt(0);
  const auto onFloor = [floor](const MemoryColumn&) { return floor; };
  const auto driverTop = [&](const MemoryColumn& c) { return yAt(c.driver.max); };
  QColor sky = theme.sky;
  sky.setAlphaF(0.17f);
  QColor line = theme.sky;
  line.setAlphaF(theme.isDark ? 0.30f : 0.45f);
  painter.setPen(Qt::NoPen);
  painter.setBrush(hatchBrush(line, sky, 7));
  painter.drawPolygon(area(columns, driverTop, onFloor));
  // The part between minimum and maximum is fainter than what was live all the time.
  QColor peak = theme.blue;
  peak.setAlphaF(0.6f);
  painter.setBrush(peak);
  painter.drawPolygon(area(
      columns, [&](const MemoryColumn& c) { return yAt(c.current.max); },
      [&](const MemoryColumn& c) { return yAt(c.current.min); }));
  painter.setBrush(theme.blue);
  painter.drawPolygon(area(
      columns, [&](const MemoryColumn& c) { return yAt(c.current.min); }, onFloor));
  painter.setRenderHint(QPainter::Antialiasing, false);
  double before = driverTop(columns.front());
  for (const MemoryColumn& column : columns) {
    const double y = driverTop(column);
    const double top = std::min(y, before), height = std::max(1.0, std::abs(y - before));
    painter.fillRect(QRectF(column.x, std::round(top), 1, std::round(height)), theme.sky);
    before = y;
  }
  painter.restore();
}

void MemoryBands::draw(QCPPainter* painter) {
  const QRect rect = keyAxis()->axisRect()->rect();
  painter->save();
  const double ceiling = valueAxis()->coordToPixel(topBytes_);
  painter->setClipRect(QRectF(rect.left(), ceiling, rect.width(), rect.bottom() + 1 - ceiling),
                       Qt::IntersectClip);
  drawMemoryBands(
      *painter, sampleMemory(*store_, timeScale()),
      [this](double bytes) { return valueAxis()->coordToPixel(bytes); }, Theme::of(parentPlot()),
      withHidden_);
  painter->restore();
}

}  // namespace highwater::views

#include "views/panes/memory_pane.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/memory_forecast.h"
#include "core/units.h"
#include "models/device_choices.h"
#include "models/qt_text.h"
#include "views/lanes/event_text.h"

namespace highwater::views {
namespace {

constexpr double kShelfRow = 16;
constexpr double kNameRow = 17;       ///< the name of a limit, above its line
constexpr double kLeastBetween = 17;  ///< of two limit lines that each have a name
constexpr double kKnobGap = 12;       ///< from a name to the first marker of a knob
constexpr double kShelfBreak = 8;     ///< the wavy line under the shelf
/// The shelf leaves the data at least this height, except for its lowest line.
constexpr double kLeastData = 60;
/// A footprint of more than this many times the driver's memory would flatten the bands: it goes to
/// the shelf.
constexpr double kFootprintFlattens = 6;
/// The percentage of recommended from which it is told without being asked for.
constexpr double kTellingShare = 10;

QString limitName(const MemoryLimitLine& limit) {
  switch (limit.kind) {
    case LimitKind::kRecommended:
      return MemoryPane::tr("recommended");
    case LimitKind::kLowWatermark:
      return MemoryPane::tr("low watermark %1×").arg(QString::number(limit.ratio, 'g', 3));
    case LimitKind::kHighWatermark:
      return MemoryPane::tr("high watermark %1×").arg(QString::number(limit.ratio, 'g', 3));
    case LimitKind::kFootprint:
      return MemoryPane::tr("process footprint");
  }
  return {};
}

/// The largest visible value; 0 without samples.
double visibleMax(const std::vector<std::int64_t>& times, const analysis::SeriesPyramid& series,
                  TimeRange range) {
  auto first = std::lower_bound(times.begin(), times.end(), range.beginNs);
  auto last = std::upper_bound(first, times.end(), range.endNs);
  // With one sample on either side, to which lines are drawn.
  first = first == times.begin() ? first : first - 1;
  last = last == times.end() ? last : last + 1;
  if (first == last) {
    return 0;
  }
  return series
      .minMax(static_cast<std::size_t>(first - times.begin()),
              static_cast<std::size_t>(last - times.begin()))
      .max;
}

}  // namespace

MemoryPane::MemoryPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                       QWidget* parent)
    : TimePane(store, axis, focus, parent), bands_(new MemoryBands(this, store)) {
  setObjectName(QStringLiteral("memoryPane"));
  setAccessibleName(tr("Memory over time"));
  setMinimumHeight(120);
}

std::vector<MemoryLimitLine> MemoryPane::limits() const {
  const auto& samples = store_->memory().recommended;
  double recommended = samples.empty() ? 0 : samples[samples.size() - 1];
  if (recommended <= 0 && store_->hello()) {
    recommended = static_cast<double>(store_->hello()->limits.recommendedBytes);
  }
  std::vector<MemoryLimitLine> lines;
  if (recommended <= 0) {
    return lines;
  }
  lines.push_back({LimitKind::kRecommended, recommended, 1});
  if (store_->hello()) {
    const MemoryLimits limits = store_->limits();
    for (const auto& [kind, ratio] :
         {std::pair(LimitKind::kLowWatermark, limits.lowWatermarkRatio),
          std::pair(LimitKind::kHighWatermark, limits.highWatermarkRatio)}) {
      lines.push_back({kind, recommended * ratio, ratio});
    }
  }
  return lines;
}

void MemoryPane::updateScales() {
  const TimeRange range = shownRange();
  const auto& memory = store_->memory();
  const double driver = std::max(visibleMax(memory.timesNs, memory.driver, range),
                                 visibleMax(memory.timesNs, memory.current, range));
  const double footprint = visibleMax(store_->system().timesNs, store_->system().footprint, range);
  const bool flattens = footprint > driver * kFootprintFlattens;
  std::vector<MemoryLimitLine> lines = limits();
  const double dataMax = flattens || std::isnan(footprint) ? driver : std::max(driver, footprint);
  const int ticks = std::clamp(plotRect().height() / 42, 2, 6);
  scale_ = makeMemoryScale(dataMax, lines, ticks);
  if (flattens && driver > 0) {
    // Always on the shelf: the footprint is no limit.
    const MemoryLimitLine line{LimitKind::kFootprint, footprint, 1};
    const auto place = std::find_if(scale_.shelf.begin(), scale_.shelf.end(),
                                    [&](const auto& other) { return other.bytes < footprint; });
    scale_.shelf.insert(place, line);
  }
  while (scale_.shelf.size() > 1 && plotRect().height() - shelfHeight() < kLeastData) {
    scale_.shelf.erase(scale_.shelf.begin());
  }
  bands_->setWithHidden(!flattens);
  bands_->setTopBytes(scale_.topBytes);
  // The name of the highest line stands above it, and below the shelf.
  const double height = std::max(plotRect().height(), 1);
  const double below = std::max(height - shelfHeight(), 1.0);
  double usable = below;
  for (const MemoryLimitLine& line : scale_.inScale) {
    if (line.bytes > 0)
      usable = std::min(usable, (below - kNameRow) * scale_.topBytes / line.bytes);
  }
  yAxis->setRange(0, scale_.topBytes * height / std::max(usable, 1.0));
}

double MemoryPane::shelfHeight() const {
  return scale_.shelf.empty() ? 0
                              : static_cast<double>(scale_.shelf.size()) * kShelfRow + kShelfBreak;
}

double MemoryPane::yAt(double bytes) const {
  return std::round(yAxis->coordToPixel(bytes));
}

void MemoryPane::paintGround(QPainter& painter) {
  TimePane::paintGround(painter);
  if (store_->memory().timesNs.empty()) {
    return;
  }
  const QRect plot = plotRect();
  for (double bytes = 0; bytes <= scale_.topBytes; bytes += scale_.tickBytes) {
    painter.fillRect(QRectF(plot.left(), yAt(bytes), plot.width(), 1), theme().grid);
  }
}

void MemoryPane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  if (store_->memory().timesNs.empty()) {
    return;
  }
  const QRect plot = plotRect();
  painter.fillRect(QRectF(plot.left(), yAt(0), plot.width(), 1), theme().strongLine);
  std::vector<double> taken;
  double knobsFrom = plot.left();
  std::vector<MemoryLimitLine> lines = scale_.inScale;
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  painter.setFont(textFont(kSmallText));
  for (std::size_t i = 0; i < lines.size();) {
    // Lines too close for a name each share the one above them.
    const double y = yAt(lines[i].bytes);
    taken.push_back(y);
    paintGutterLabel(painter, y, limitText(lines[i].bytes));
    QStringList names, withSizes;
    for (; i < lines.size() && yAt(lines[i].bytes) - y < kLeastBetween; ++i) {
      paintLimitLine(painter, lines[i], yAt(lines[i].bytes), plot.left());
      names << limitName(lines[i]);
      withSizes << names.back() + QLatin1Char(' ') + limitText(lines[i].bytes);
    }
    const bool one = names.size() == 1;
    painter.setFont(textFont(kSmallText));
    painter.setPen(theme().text2);
    const QString comma = QStringLiteral(", ");
    const double room = plot.width() - 16.0;
    const QString text =
        fitText(painter, {one ? names.front() : withSizes.join(comma), names.join(comma)}, room);
    const QRectF box(plot.left() + 8, y - kNameRow, room, kNameRow - 1);
    // On a ground of its own: the line may run through a band.
    const double width = painter.fontMetrics().horizontalAdvance(text);
    painter.fillRect(QRectF(box.left() - 3, box.top() + 1, width + 6, box.height() - 2),
                     theme().plot);
    painter.drawText(box, Qt::AlignVCenter, text);
    if (box.intersects(knobRow())) {
      knobsFrom = box.left() + painter.fontMetrics().horizontalAdvance(text) + kKnobGap;
    }
  }
  bool unitSaid = std::any_of(
      scale_.inScale.begin(), scale_.inScale.end(),
      [this](const auto& limit) { return limitText(limit.bytes).endsWith(scale_.unit); });
  const auto ticks = static_cast<int>(scale_.topBytes / scale_.tickBytes);
  for (int tick = ticks; tick >= 0; --tick) {
    const double bytes = tick * scale_.tickBytes, y = yAt(bytes);
    if (std::any_of(taken.begin(), taken.end(), [y](double t) { return std::abs(t - y) < 14; }) ||
        y < plot.top() + shelfHeight() + 4) {
      continue;
    }
    // Only the highest label has the unit.
    paintGutterLabel(
        painter, y, scale_.number(bytes) + (unitSaid ? QString() : QLatin1Char(' ') + scale_.unit));
    unitSaid = true;
  }
  paintShelf(painter);
  paintPeaks(painter);
  paintKnobs(painter, knobsFrom);
}

void MemoryPane::paintLimitLine(QPainter& painter, const MemoryLimitLine& limit, double y,
                                double left) const {
  const double right = plotRect().right() + 1;
  QPen pen(limit.kind == LimitKind::kFootprint ? theme().grey : theme().text1, 1);
  if (limit.kind == LimitKind::kLowWatermark) {
    pen.setDashPattern(kLowWatermarkDashes);
  } else if (limit.kind == LimitKind::kHighWatermark) {
    pen.setDashPattern(kHighWatermarkDashes);
  } else if (limit.kind == LimitKind::kFootprint) {
    pen.setDashPattern({2, 3});
  }
  painter.setPen(pen);
  painter.drawLine(QPointF(left, y), QPointF(right, y));
}

void MemoryPane::paintShelf(QPainter& painter) const {
  if (scale_.shelf.empty()) {
    return;
  }
  const QRect plot = plotRect();
  const double bottom = plot.top() + shelfHeight();
  painter.fillRect(QRectF(plot.left(), plot.top(), plot.width(), shelfHeight() - 4), theme().shelf);
  double y = plot.top() + kShelfRow / 2;
  for (const MemoryLimitLine& limit : scale_.shelf) {
    painter.setFont(textFont(kSmallText));
    painter.setPen(theme().text2);
    const QString name = limitName(limit);
    painter.drawText(QRectF(plot.left() + 8, y - 8, 300, 16), Qt::AlignVCenter, name);
    const double begin = plot.left() + 16 + painter.fontMetrics().horizontalAdvance(name);
    paintLimitLine(painter, limit, std::round(y), begin);
    paintGutterLabel(painter, y, limitText(limit.bytes));
    y += kShelfRow;
  }
  // A wavy line: the shelf above it is not to scale.
  QPolygonF wave;
  for (int x = plot.left(); x <= plot.right() + 1; x += 2) {
    wave << QPointF(x, bottom - 4 + 1.6 * std::sin(x * M_PI / 6));
  }
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().strongLine, 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(wave);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void MemoryPane::paintPeaks(QPainter& painter) const {
  const TimeScale s = TimePane::scale();
  const auto& records = store_->steps().records;
  const auto& memory = store_->memory();
  const auto [first, last] = store_->steps().lane.touching(s.range.beginNs, s.range.endNs);
  if (last - first > static_cast<std::size_t>(s.width / 14)) {
    return;
  }
  for (std::size_t i = first; i < last; ++i) {
    const auto& step = records[store_->steps().lane[i].payload];
    const std::int64_t end = step.begin_ns() + step.duration_ns();
    const auto begin =
        std::lower_bound(memory.timesNs.begin(), memory.timesNs.end(), step.begin_ns());
    const auto stop = std::upper_bound(begin, memory.timesNs.end(), end);
    std::int64_t at = step.begin_ns() + step.duration_ns() / 2;
    double most = -1;
    for (auto sample = begin; sample != stop; ++sample) {
      const double value =
          memory.current[static_cast<std::size_t>(sample - memory.timesNs.begin())];
      if (value > most) {
        most = value;
        at = *sample;
      }
    }
    const double x = s.pixelAt(at);
    if (x > plotRect().left() && x < plotRect().right() && step.peak_current_bytes() > 0) {
      drawGlyph(painter, Glyph::kPeak, {x, yAt(static_cast<double>(step.peak_current_bytes())) - 5},
                theme().text1, theme().plot);
    }
  }
}

QRectF MemoryPane::knobRow() const {
  const QRect plot = plotRect();
  return {plot.left() + 0.0, plot.top() + shelfHeight() + 2, plot.width() + 0.0, 16};
}

void MemoryPane::paintKnobs(QPainter& painter, double from) const {
  const TimeScale s = TimePane::scale();
  const double y = knobRow().center().y();
  double free = from;
  const auto& markers = store_->markers();
  for (std::size_t i = 0; i < markers.size(); ++i) {
    const double x = s.pixelAt(markers[i].time_ns());
    if (markerGlyph(markers[i].kind()) != Glyph::kPentagon || x < free || x > plotRect().right()) {
      continue;
    }
    drawGlyph(painter, Glyph::kPentagon, {std::round(x) + 0.5, y}, theme().text1, theme().plot);
    free = x + 10;
    double next = plotRect().right();
    for (std::size_t j = i + 1; j < markers.size(); ++j) {
      if (markerGlyph(markers[j].kind()) == Glyph::kPentagon) {
        next = std::min(next, s.pixelAt(markers[j].time_ns()) - 8);
        break;
      }
    }
    painter.setFont(textFont(kSmallText));
    const QString fits = fitText(painter, markerForms(*store_, markers[i]), next - x - 14);
    painter.setPen(theme().text1);
    painter.drawText(QRectF(x + 10, y - 8, next - x, 16), Qt::AlignVCenter, fits);
  }
}

std::optional<MemoryPane::Reading> MemoryPane::readingAt(std::int64_t ns) const {
  const auto& memory = store_->memory();
  const auto after = std::upper_bound(memory.timesNs.begin(), memory.timesNs.end(), ns);
  if (after == memory.timesNs.begin()) {
    return std::nullopt;
  }
  const auto i = static_cast<std::size_t>(after - memory.timesNs.begin() - 1);
  Reading reading{memory.current[i], memory.driver[i], memory.recommended[i],
                  std::numeric_limits<double>::quiet_NaN()};
  const auto& system = store_->system();
  const auto next = std::upper_bound(system.timesNs.begin(), system.timesNs.end(), ns);
  if (next != system.timesNs.begin()) {
    reading.footprint =
        system.footprint[static_cast<std::size_t>(next - system.timesNs.begin() - 1)];
  }
  return reading;
}

std::vector<Readout> MemoryPane::readouts() const {
  const auto reading = readingAt(readoutTime());
  if (!reading) {
    return {};
  }
  std::vector<Readout> items = {
      {Swatch::kSolid, theme().blue, tr("live"), bytesText(reading->current)},
      {Swatch::kHatchSky, theme().sky, tr("cached"),
       bytesText(reading->driver - reading->current)}};
  if (reading->footprint > reading->driver) {
    items.push_back({Swatch::kDots, theme().grey,
                     measures().small ? tr("hidden, est.") : tr("hidden, estimate"),
                     bytesText(reading->footprint - reading->driver)});
  }
  return items;
}

QString MemoryPane::rightReadout() const {
  const auto reading = readingAt(readoutTime());
  if (!reading || reading->recommended <= 0) {
    return {};
  }
  const double percent = 100 * reading->driver / reading->recommended;
  const QString number = QString::number(percent, 'f', percent < 10 ? 1 : 0);
  const QString when = axis_->cursor() ? QString() : forecast();
  if (!when.isEmpty()) {
    return measures().small
               ? tr("%1 %, live reaches 100 % in %2").arg(number, when)
               : tr("driver %1 % of recommended, live reaches it in %2").arg(number, when);
  }
  // The numbers of the selection have the share too.
  if (percent < kTellingShare && !axis_->cursor()) return {};
  return measures().small ? tr("%1 %").arg(number) : tr("driver %1 % of recommended").arg(number);
}

QString MemoryPane::forecast() const {
  constexpr std::int64_t kFreshNs = 500'000'000;
  const std::int64_t nowNs = store_->completeUpToNs();
  const bool fresh = forecastNs_ >= 0 && nowNs >= forecastNs_ && nowNs - forecastNs_ < kFreshNs;
  if (!fresh || store_->end()) {
    const auto forecast = analysis::forecastMemory(*store_);
    forecast_ = forecast ? text(forecast->text()) : QString();
    forecastNs_ = nowNs;
  }
  return forecast_;
}

QString MemoryPane::emptyText() const {
  if (!store_->memory().timesNs.empty()) {
    return {};
  }
  if (!store_->hasMemoryCounters()) {
    QStringList withCounters;
    for (const auto& each : models::deviceChoices()) withCounters << each.key;
    withCounters.removeAll(QStringLiteral("auto"));
    withCounters.removeAll(QStringLiteral("cpu"));
    const QString choose =
        withCounters.isEmpty()
            ? QString()
            : tr("\nChoose %1 in the menu Run, Device, to see live, cached and the limits")
                  .arg(withCounters.join(tr(" or ")));
    return tr("The CPU has no memory counters.") + choose;
  }
  if (store_->end()) {
    return tr("The run ended before its first memory sample");
  }
  return store_->run() ? tr("Waiting for the first memory sample")
                       : tr("Memory of the device over time, once the training begins:\n"
                            "live, cached, and the limits");
}

QString MemoryPane::tipAt(const QPoint& position) const {
  const double x = position.x();
  for (const auto& marker : store_->markers()) {
    if (markerGlyph(marker.kind()) == Glyph::kPentagon &&
        std::abs(TimePane::scale().pixelAt(marker.time_ns()) - x) < 5) {
      return tr("%1 from step %2")
          .arg(QString::fromStdString(store_->markerText(marker)))
          .arg(marker.step());
    }
  }
  const std::int64_t at = TimePane::scale().timeAt(x);
  const bool inRun = at >= axis_->extent().beginNs && at <= axis_->extent().endNs;
  const auto reading = inRun && position.y() >= plotRect().top() ? readingAt(at) : std::nullopt;
  if (!reading) {
    return {};
  }
  QStringList lines{
      text(formatRunTime(at)), tr("live %1").arg(bytesText(reading->current)),
      tr("driver %1, cached %2")
          .arg(bytesText(reading->driver), bytesText(reading->driver - reading->current))};
  if (reading->footprint > reading->driver) {
    lines << tr("hidden %1, estimate").arg(bytesText(reading->footprint - reading->driver));
  }
  return lines.join(QLatin1Char('\n'));
}

}  // namespace highwater::views

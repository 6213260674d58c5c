#include "views/panes/system_pane.h"

#include <algorithm>
#include <cmath>

#include "core/names.h"
#include "models/qt_text.h"

namespace highwater::views {
namespace {

constexpr double kRowHeight = 18;
/// A gap without samples that is longer stays empty.
constexpr std::int64_t kHoldNs = 5'000'000'000;

using Kind = SystemRow::Kind;
constexpr Kind kKinds[] = {Kind::kFootprint, Kind::kAvailable, Kind::kSwap, Kind::kGpu,
                           Kind::kPressure};

QString nameOf(Kind kind) {
  switch (kind) {
    case Kind::kFootprint:
      return SystemPane::tr("footprint");
    case Kind::kAvailable:
      return SystemPane::tr("available");
    case Kind::kSwap:
      return SystemPane::tr("swap used");
    case Kind::kGpu:
      return SystemPane::tr("GPU");
    case Kind::kPressure:
      return SystemPane::tr("pressure");
  }
  return {};
}

QString meaningOf(Kind kind) {
  switch (kind) {
    case Kind::kFootprint:
      return SystemPane::tr("Memory of the process, with what is neither live nor cached");
    case Kind::kAvailable:
      return SystemPane::tr("Memory that the machine can still give without swapping");
    case Kind::kSwap:
      return SystemPane::tr("Swap in use, of the whole machine");
    case Kind::kGpu:
      return SystemPane::tr("GPU utilization by all processes, as the driver reports it");
    case Kind::kPressure:
      return SystemPane::tr("Memory pressure of the whole machine: normal, warning, critical");
  }
  return {};
}

QColor colorOf(Kind kind, const Theme& theme) {
  switch (kind) {
    case Kind::kAvailable:
      return theme.sky;
    case Kind::kSwap:
      return theme.purple;
    case Kind::kGpu:
      return theme.busy;
    default:
      return theme.grey;
  }
}

}  // namespace

SystemPane::SystemPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                       QWidget* parent)
    : TimePane(store, axis, focus, parent) {
  setObjectName(QStringLiteral("systemPane"));
  setAccessibleName(tr("Readings of the process and its machine over time"));
  SystemPane::setMeasures({});
}

const analysis::SeriesPyramid* SystemPane::series(Kind kind) const {
  const auto& system = store_->system();
  switch (kind) {
    case Kind::kFootprint:
      return &system.footprint;
    case Kind::kAvailable:
      return &system.available;
    case Kind::kSwap:
      return &system.swapUsed;
    case Kind::kGpu:
      return &system.gpuPercent;
    case Kind::kPressure:
      break;
  }
  return nullptr;
}

bool SystemPane::knows(Kind kind) const {
  if (const auto* column = series(kind)) {
    return !column->empty() && !std::isnan(column->minMax(0, column->size()).max);
  }
  const auto& pressure = store_->system().pressure;
  // Unknown in the first and the last sample: it is not read here.
  return !pressure.empty() && (pressure.front() != events::Pressure::Unknown ||
                               pressure.back() != events::Pressure::Unknown);
}

void SystemPane::refresh() {
  layOut();
  TimePane::refresh();
}

void SystemPane::setMeasures(const PaneMeasures& measures) {
  TimePane::setMeasures(measures);
  axisRect()->setMargins(QMargins(measures.gutter, measures.header, measures.rightInset, 5));
  layOut();
}

void SystemPane::layOut() {
  std::vector<SystemRow> rows;
  double top = measures().header;
  for (const Kind kind : kKinds) {
    if (knows(kind)) {
      rows.push_back({kind, top, kRowHeight});
      top += kRowHeight;
    }
  }
  const int height = static_cast<int>(rows.empty() ? top + 2 * kRowHeight : top) + 5;
  rows_ = std::move(rows);
  if (height != minimumHeight()) {
    setFixedHeight(height);
  }
}

template <typename F>
void SystemPane::eachColumn(F&& f) const {
  const auto& times = store_->system().timesNs;
  const TimeScale s = scale();
  auto first = std::lower_bound(times.begin(), times.end(), s.range.beginNs);
  const int width = plotRect().width();
  for (int column = 0; column < width; ++column) {
    const std::int64_t endNs = s.timeAt(s.left + column + 1);
    auto last = first;
    // The next column is near: a few samples away, or none.
    while (last != times.end() && *last < endNs && last - first < 64) ++last;
    if (last - first == 64) last = std::lower_bound(last, times.end(), endNs);
    const auto at = static_cast<std::size_t>(first - times.begin());
    if (last != first) {
      f(s.left + column, at, at + static_cast<std::size_t>(last - first));
    } else if (at > 0 && endNs - times[at - 1] < kHoldNs && endNs <= store_->completeUpToNs()) {
      f(s.left + column, at - 1, at);
    }
    first = last;
  }
}

void SystemPane::paintRow(QPainter& painter, const SystemRow& row) const {
  const auto& values = *series(row.kind);
  double top = 100;  // percent
  if (row.kind != Kind::kGpu) {
    top = std::max(values.minMax(0, values.size()).max * 1.05, 1.0);
  }
  const double base = row.top + row.height - 2, tall = row.height - 5;
  const QColor line = colorOf(row.kind, theme());
  QColor fill = line;
  fill.setAlphaF(0.35f);
  const auto y = [&](double value) {
    return std::round(base - tall * std::clamp(value / top, 0.0, 1.0));
  };
  eachColumn([&](double x, std::size_t first, std::size_t last) {
    const analysis::MinMax range = values.minMax(first, last);
    if (std::isnan(range.min)) {
      return;
    }
    const double high = y(range.max), low = y(range.min);
    painter.fillRect(QRectF(x, high, 1, base - high), fill);
    painter.fillRect(QRectF(x, high, 1, std::max(low - high, 1.0)), line);
  });
}

/// Normal is a thin line, warning a hatch, critical solid: three heights.
void SystemPane::paintPressure(QPainter& painter, const SystemRow& row) const {
  const auto& levels = store_->system().pressure;
  const double base = row.top + row.height - 2;
  QColor ground = theme().orange;
  ground.setAlphaF(0.3f);
  const QBrush warning = hatchBrush(theme().orange, ground, 4);
  eachColumn([&](double x, std::size_t first, std::size_t last) {
    const auto worst = *std::max_element(levels.begin() + static_cast<std::ptrdiff_t>(first),
                                         levels.begin() + static_cast<std::ptrdiff_t>(last));
    if (worst == events::Pressure::Critical) {
      painter.fillRect(QRectF(x, base - 13, 1, 13), theme().vermillion);
    } else if (worst == events::Pressure::Warning) {
      painter.fillRect(QRectF(x, base - 8, 1, 8), warning);
    } else if (worst == events::Pressure::Normal) {
      painter.fillRect(QRectF(x, base - 2, 1, 2), theme().grey);
    }
  });
}

void SystemPane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  const QRect plot = plotRect();
  for (const SystemRow& row : rows_) {
    painter.fillRect(QRectF(plot.left(), row.top + row.height - 1, plot.width(), 1), theme().grid);
    row.kind == Kind::kPressure ? paintPressure(painter, row) : paintRow(painter, row);
    paintGutterLabel(painter, row.top + row.height / 2, nameOf(row.kind));
  }
}

std::optional<std::size_t> SystemPane::sampleAt(std::int64_t ns) const {
  const auto& times = store_->system().timesNs;
  const auto after = std::upper_bound(times.begin(), times.end(), ns);
  if (after == times.begin()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(after - times.begin() - 1);
}

QString SystemPane::valueText(Kind kind, std::size_t sample) const {
  if (kind == Kind::kPressure) {
    return text(pressureName(store_->system().pressure[sample]));
  }
  const double value = (*series(kind))[sample];
  if (std::isnan(value)) {
    return QStringLiteral("–");
  }
  return kind == Kind::kGpu ? tr("%1 %").arg(value, 0, 'f', 0) : bytesText(value);
}

std::vector<Readout> SystemPane::readouts() const {
  const auto sample = sampleAt(readoutTime());
  std::vector<Readout> items;
  for (std::size_t i = 0; sample && i < rows_.size(); ++i) {
    const Kind kind = rows_[i].kind;
    const bool plain = kind == Kind::kPressure;
    items.push_back({plain ? Swatch::kNone : Swatch::kSolid, colorOf(kind, theme()), nameOf(kind),
                     valueText(kind, *sample)});
  }
  return items;
}

QString SystemPane::leftOut() const {
  QStringList lines;
  for (const Kind kind : kKinds) {
    if (knows(kind)) {
      continue;
    }
    const QString why = kind == Kind::kGpu || kind == Kind::kPressure
                            ? tr("this machine does not report it")
                            : tr("it could not be read");
    lines << tr("%1: %2").arg(nameOf(kind), why);
  }
  lines << tr("thermal state: it is not recorded");
  return lines.join(QLatin1Char('\n'));
}

QString SystemPane::gutterTipAt(const QPoint& position) const {
  for (const SystemRow& row : rows_) {
    if (position.y() >= row.top && position.y() < row.top + row.height) {
      return meaningOf(row.kind);
    }
  }
  return tr("Each reading on a scale of its own, from 0.\nLeft out:\n%1").arg(leftOut());
}

QString SystemPane::tipAt(const QPoint& position) const {
  const auto sample = sampleAt(scale().timeAt(position.x()));
  for (const SystemRow& row : rows_) {
    if (sample && position.y() >= row.top && position.y() < row.top + row.height) {
      return tr("%1 %2").arg(nameOf(row.kind), valueText(row.kind, *sample));
    }
  }
  return {};
}

QString SystemPane::emptyText() const {
  return rows_.empty() ? tr("Footprint, available memory, swap, pressure and GPU over time")
                       : QString();
}

}  // namespace highwater::views

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

using SystemKind = SystemRow::Kind;
constexpr SystemKind kKinds[] = {
    SystemKind::kFootprint, SystemKind::kAvailable, SystemKind::kCompressor,
    SystemKind::kSwap,      SystemKind::kSwapRate,  SystemKind::kGpu,
    SystemKind::kGpuMemory, SystemKind::kPressure,  SystemKind::kThermal};

bool isMachine(SystemKind kind) {
  return kind == SystemKind::kCompressor || kind == SystemKind::kSwapRate ||
         kind == SystemKind::kGpuMemory || kind == SystemKind::kThermal;
}

QString nameOf(SystemKind kind) {
  switch (kind) {
    case SystemKind::kFootprint:
      return SystemPane::tr("footprint");
    case SystemKind::kAvailable:
      return SystemPane::tr("available");
    case SystemKind::kCompressor:
      return SystemPane::tr("compressor");
    case SystemKind::kSwap:
      return SystemPane::tr("swap used");
    case SystemKind::kSwapRate:
      return SystemPane::tr("swapping");
    case SystemKind::kGpu:
      return SystemPane::tr("GPU");
    case SystemKind::kGpuMemory:
      return SystemPane::tr("GPU memory");
    case SystemKind::kPressure:
      return SystemPane::tr("pressure");
    case SystemKind::kThermal:
      return SystemPane::tr("thermal");
  }
  return {};
}

QString meaningOf(SystemKind kind) {
  switch (kind) {
    case SystemKind::kFootprint:
      return SystemPane::tr("Memory of the process, with what is neither live nor cached");
    case SystemKind::kAvailable:
      return SystemPane::tr("Memory that the machine can still give without swapping");
    case SystemKind::kCompressor:
      return SystemPane::tr(
          "Memory that compressed pages occupy, of the whole machine: it grows before swap does");
    case SystemKind::kSwap:
      return SystemPane::tr("Swap in use, of the whole machine");
    case SystemKind::kSwapRate:
      return SystemPane::tr(
          "Bytes a second to and from swap, of the whole machine, over the last second. "
          "What is swapped out has to be read again before it can be used");
    case SystemKind::kGpu:
      return SystemPane::tr("GPU utilization by all processes, as the driver reports it");
    case SystemKind::kGpuMemory:
      return SystemPane::tr(
          "Memory that the GPU has in use for all processes, as the driver "
          "reports it");
    case SystemKind::kPressure:
      return SystemPane::tr("Memory pressure of the whole machine: normal, warning, critical");
    case SystemKind::kThermal:
      return SystemPane::tr(
          "How hot the machine is (nominal, fair, serious, critical) and whether Low Power Mode is "
          "on. From serious on, and in Low Power Mode, the system slows processors and GPU down: "
          "compare times only with times in the same state");
  }
  return {};
}

/// "serious, Low Power Mode".
QString stateText(events::ThermalState state, bool low) {
  const QString mode = SystemPane::tr("Low Power Mode");
  if (state == events::ThermalState::Unknown) return low ? mode : QStringLiteral("–");
  return low ? SystemPane::tr("%1, %2").arg(text(thermalStateName(state)), mode)
             : text(thermalStateName(state));
}

/// In a narrow header what says whether times and memory can be trusted stays longest.
int rankOf(SystemKind kind) {
  switch (kind) {
    case SystemKind::kFootprint:
    case SystemKind::kPressure:
    case SystemKind::kThermal:
      return 0;
    case SystemKind::kAvailable:
    case SystemKind::kSwap:
      return 1;
    case SystemKind::kGpu:
      return 2;
    default:
      return 3;
  }
}

QColor colorOf(SystemKind kind, const Theme& theme) {
  switch (kind) {
    case SystemKind::kAvailable:
      return theme.sky;
    case SystemKind::kSwap:
    case SystemKind::kSwapRate:
    case SystemKind::kCompressor:
      return theme.purple;
    case SystemKind::kGpu:
    case SystemKind::kGpuMemory:
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
    case Kind::kCompressor:
      return &store_->machine().compressor;
    case Kind::kSwap:
      return &system.swapUsed;
    case Kind::kSwapRate:
      return &store_->machine().swapRate;
    case Kind::kGpu:
      return &system.gpuPercent;
    case Kind::kGpuMemory:
      return &store_->machine().gpuBytes;
    case Kind::kPressure:
    case Kind::kThermal:
      break;
  }
  return nullptr;
}

const std::vector<std::int64_t>& SystemPane::timesOf(Kind kind) const {
  return isMachine(kind) ? store_->machine().timesNs : store_->system().timesNs;
}

bool SystemPane::shows(Kind kind) const {
  if (const auto* column = series(kind)) {
    const double most = column->empty() ? std::nan("") : column->minMax(0, column->size()).max;
    const bool onlyAboveZero = kind == Kind::kCompressor || kind == Kind::kSwapRate;
    return onlyAboveZero ? most > 0 : !std::isnan(most);
  }
  if (kind == Kind::kThermal) {
    const auto& machine = store_->machine();
    return std::any_of(machine.thermal.begin(), machine.thermal.end(),
                       [](auto state) { return state > events::ThermalState::Nominal; }) ||
           std::find(machine.power.begin(), machine.power.end(), events::PowerMode::Low) !=
               machine.power.end();
  }
  const auto& pressure = store_->system().pressure;
  // Unknown in the first and the last sample: it is not read here.
  return !pressure.empty() && (pressure.front() != events::Pressure::Unknown ||
                               pressure.back() != events::Pressure::Unknown);
}

QString SystemPane::whyLeftOut(Kind kind) const {
  const auto& machine = store_->machine();
  if (isMachine(kind) && machine.timesNs.empty() && !store_->system().timesNs.empty()) {
    return tr("this recording is of an earlier version");
  }
  const auto isZero = [&] {
    return !series(kind)->empty() && series(kind)->minMax(0, series(kind)->size()).max == 0;
  };
  switch (kind) {
    case Kind::kCompressor:
      if (isZero()) return tr("nothing was compressed");
      break;
    case Kind::kSwapRate:
      if (isZero()) return tr("nothing was swapped");
      break;
    case Kind::kThermal: {
      const bool knowsState =
          std::any_of(machine.thermal.begin(), machine.thermal.end(),
                      [](auto state) { return state != events::ThermalState::Unknown; });
      const bool knowsMode = std::any_of(machine.power.begin(), machine.power.end(), [](auto mode) {
        return mode != events::PowerMode::Unknown;
      });
      if (knowsState) {
        return knowsMode ? tr("the thermal state was nominal, and Low Power Mode off")
                         : tr("the thermal state was nominal");
      }
      return knowsMode
                 ? tr("this machine does not report its thermal state; Low Power Mode was off")
                 : tr("this machine does not report its thermal state");
    }
    case Kind::kGpu:
    case Kind::kGpuMemory:
    case Kind::kPressure:
      return tr("this machine does not report it");
    default:
      break;
  }
  return tr("it could not be read");
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
    if (shows(kind)) {
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
void SystemPane::eachColumn(Kind kind, F&& f) const {
  const auto& times = timesOf(kind);
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
  eachColumn(row.kind, [&](double x, std::size_t first, std::size_t last) {
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
  eachColumn(row.kind, [&](double x, std::size_t first, std::size_t last) {
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

/// A bar for each span of one state, with its word where there is room. No bar where it is nominal.
void SystemPane::paintThermal(QPainter& painter, const SystemRow& row) const {
  const auto& machine = store_->machine();
  struct Span {
    double left = 0, right = 0;
    events::ThermalState state = events::ThermalState::Unknown;
    bool low = false;
  };
  const double base = row.top + row.height - 2;
  const QFontMetricsF metrics(painter.font());
  const auto paint = [&](const Span& span) {
    const bool hot = span.state > events::ThermalState::Nominal;
    if (!hot && !span.low) return;
    const bool slowed = span.state >= events::ThermalState::Serious;
    const QColor color = span.state == events::ThermalState::Critical ? theme().vermillion
                         : slowed || span.low                         ? theme().orange
                                                                      : theme().grey;
    const double tall = slowed ? 4 : 2;
    painter.fillRect(QRectF(span.left, base - tall, span.right - span.left, tall), color);
    // What slows the machine down, in as many words as fit.
    const double room = span.right - span.left - 6;
    QString word =
        hot ? stateText(span.state, span.low) : stateText(events::ThermalState::Unknown, span.low);
    if (hot && metrics.horizontalAdvance(word) > room) word = stateText(span.state, false);
    if (metrics.horizontalAdvance(word) > room) return;
    painter.setPen(theme().text1);
    painter.drawText(QRectF(span.left + 3, row.top, span.right - span.left - 3, row.height - 6),
                     Qt::AlignLeft | Qt::AlignVCenter, word);
  };
  Span span;
  eachColumn(row.kind, [&](double x, std::size_t first, std::size_t last) {
    Span here{x, x + 1, events::ThermalState::Unknown, false};
    for (std::size_t i = first; i < last; ++i) {
      here.state = std::max(here.state, machine.thermal[i]);
      here.low = here.low || machine.power[i] == events::PowerMode::Low;
    }
    if (here.state == span.state && here.low == span.low && here.left == span.right) {
      span.right = here.right;
      return;
    }
    paint(span);
    span = here;
  });
  paint(span);
}

void SystemPane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  const QRect plot = plotRect();
  for (const SystemRow& row : rows_) {
    painter.fillRect(QRectF(plot.left(), row.top + row.height - 1, plot.width(), 1), theme().grid);
    if (row.kind == Kind::kPressure) {
      paintPressure(painter, row);
    } else if (row.kind == Kind::kThermal) {
      paintThermal(painter, row);
    } else {
      paintRow(painter, row);
    }
    paintGutterLabel(painter, row.top + row.height / 2, nameOf(row.kind));
  }
}

QString SystemPane::valueText(Kind kind, std::int64_t ns) const {
  const auto& times = timesOf(kind);
  const auto after = std::upper_bound(times.begin(), times.end(), ns);
  if (after == times.begin()) return {};
  const auto sample = static_cast<std::size_t>(after - times.begin() - 1);
  if (kind == Kind::kPressure) {
    return text(pressureName(store_->system().pressure[sample]));
  }
  const auto& machine = store_->machine();
  if (kind == Kind::kThermal) {
    return stateText(machine.thermal[sample], machine.power[sample] == events::PowerMode::Low);
  }
  const double value = (*series(kind))[sample];
  if (std::isnan(value)) {
    return QStringLiteral("–");
  }
  if (kind == Kind::kGpu) return tr("%1 %").arg(value, 0, 'f', 0);
  return kind == Kind::kSwapRate ? tr("%1/s").arg(bytesText(value)) : bytesText(value);
}

std::vector<Readout> SystemPane::readouts() const {
  const std::int64_t ns = readoutTime();
  std::vector<Readout> items;
  for (const SystemRow& row : rows_) {
    const QString value = valueText(row.kind, ns);
    if (value.isEmpty()) continue;
    const bool plain = series(row.kind) == nullptr;
    items.push_back({plain ? Swatch::kNone : Swatch::kSolid, colorOf(row.kind, theme()),
                     nameOf(row.kind), value, rankOf(row.kind)});
  }
  return items;
}

QString SystemPane::leftOut() const {
  QStringList lines;
  for (const Kind kind : kKinds) {
    if (!shows(kind)) lines << tr("%1: %2").arg(nameOf(kind), whyLeftOut(kind));
  }
  return lines.join(QLatin1Char('\n'));
}

QString SystemPane::gutterTipAt(const QPoint& position) const {
  for (const SystemRow& row : rows_) {
    if (position.y() >= row.top && position.y() < row.top + row.height) {
      return meaningOf(row.kind);
    }
  }
  const QString scales = tr("Each reading on a scale of its own, from 0.");
  const QString missing = leftOut();
  return missing.isEmpty() ? scales : tr("%1\nLeft out:\n%2").arg(scales, missing);
}

QString SystemPane::tipAt(const QPoint& position) const {
  const std::int64_t ns = scale().timeAt(position.x());
  for (const SystemRow& row : rows_) {
    if (position.y() < row.top || position.y() >= row.top + row.height) continue;
    const QString value = valueText(row.kind, ns);
    return value.isEmpty() ? QString() : tr("%1 %2").arg(nameOf(row.kind), value);
  }
  return {};
}

QString SystemPane::emptyText() const {
  return rows_.empty() ? tr("Footprint, available memory, swap, pressure and GPU over time")
                       : QString();
}

}  // namespace highwater::views

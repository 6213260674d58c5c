#include "views/tuning/benchmark_plot.h"

#include <algorithm>

#include "models/qt_text.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

constexpr double kSideBarWidth = 0.24;

/// "0.52 ms", "3.2 µs".
QString timeText(double ms) {
  if (ms >= 0.1 || ms <= 0) return text(formatMs(ms));
  return QStringLiteral("%1 µs").arg(ms * 1000, 0, 'f', ms < 0.01 ? 1 : 0);
}

QString caseName(const tuning::BenchmarkTiming& timing) {
  const QString type = timing.cpuType == timing.mpsType
                           ? text(timing.cpuType)
                           : text(timing.cpuType) + QStringLiteral(" / ") + text(timing.mpsType);
  if (timing.what == tuning::BenchmarkTiming::What::kStep) {
    return BenchmarkPlot::tr("training step") + u'\n' + type;
  }
  return text(matmulText(timing.shape)) + u'\n' + type;
}

}  // namespace

BenchmarkPlot::BenchmarkPlot(QWidget* parent) : QCustomPlot(parent) {
  setObjectName(QStringLiteral("benchmarkPlot"));
  setInteractions(QCP::iNone);
  auto* group = new QCPBarsGroup(this);
  group->setSpacingType(QCPBarsGroup::stAbsolute);
  group->setSpacing(4);
  for (int i = 0; i < 2; ++i) {
    auto* bars = new QCPBars(xAxis, yAxis);
    bars->setWidth(kSideBarWidth);
    bars->setBarsGroup(group);
    bars->setSelectable(QCP::stNone);
    bars_.push_back(bars);
    auto* errors = new QCPErrorBars(xAxis, yAxis);
    errors->setErrorType(QCPErrorBars::etValueError);
    errors->setDataPlottable(bars);
    errors->setSymbolGap(0);
    errors->setWhiskerWidth(7);
    errors->setSelectable(QCP::stNone);
    errors->setAntialiased(false);
    errors->removeFromLegend();
    errors_.push_back(errors);
  }
  bars_[0]->setName(tr("CPU"));
  xAxis->setTickLength(0, 0);
  xAxis->setSubTicks(false);
  xAxis->grid()->setVisible(false);
  yAxis->setSubTicks(false);
  yAxis->setLabel(tr("time, CPU = 1"));
  yAxis->ticker()->setTickCount(4);
  // A row above the axes, so that no bar is covered.
  plotLayout()->insertRow(0);
  auto* legends = new QCPLayoutGrid;
  plotLayout()->addElement(0, 0, legends);
  legends->addElement(0, 0, legend);
  legend->setFillOrder(QCPLegend::foColumnsFirst);
  legend->setVisible(true);
  legends->setMargins(QMargins(0, 2, 0, 0));
  legend->setMargins(QMargins(8, 2, 8, 2));
  axisRect()->setMinimumMargins(QMargins(8, 2, 8, 4));
  plotLayout()->setRowSpacing(2);
  setMinimumHeight(150);
  plotLayout()->setRowStretchFactor(0, 0.001);
  setBenchmark({});
}

void BenchmarkPlot::setBenchmark(const tuning::Benchmark& benchmark) {
  for (QCPItemText* label : labels_) removeItem(label);
  labels_.clear();
  const QString device = text(benchmark.deviceName());
  bars_[1]->setName(device);
  QVector<double> keys, values[2], below[2], above[2];
  QSharedPointer<QCPAxisTickerText> names(new QCPAxisTickerText);
  double most = 1;
  for (const tuning::BenchmarkTiming& timing : benchmark.timings) {
    const tuning::Spread spreads[] = {tuning::honestMs(timing.cpu, timing.calls),
                                      tuning::honestMs(timing.mps, timing.calls)};
    const double unit = spreads[0].median;
    if (unit <= 0) continue;
    const double key = static_cast<double>(keys.size());
    names->addTick(key, caseName(timing));
    keys << key;
    for (std::size_t i = 0; i < 2; ++i) {
      const tuning::Spread& spread = spreads[i];
      values[i] << spread.median / unit;
      below[i] << (spread.median - spread.lower) / unit;
      above[i] << (spread.upper - spread.median) / unit;
      const double top = spread.upper / unit;
      most = std::max(most, top);
      addLabel(bars_[i], key, spread.median / unit, top, spread.median);
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    bars_[i]->setData(keys, values[i], true);
    errors_[i]->setData(below[i], above[i]);
  }
  xAxis->setTicker(names);
  const double count = std::max(1.0, static_cast<double>(keys.size()));
  // A few cases keep bars of a usual width.
  const double room = std::max(0.0, 3 - count) / 2;
  xAxis->setRange(-0.5 - room, count - 0.5 + room);
  yAxis->setRange(0, most * 1.25);
  describe(benchmark);
  restyle();
}

void BenchmarkPlot::addLabel(QCPBars* bars, double key, double value, double above, double ms) {
  auto* label = new QCPItemText(this);
  label->setText(timeText(ms));
  label->setClipToAxisRect(false);
  label->setPositionAlignment(Qt::AlignHCenter | Qt::AlignBottom);
  label->setPadding(QMargins(0, 0, 0, 3));
  // The bars of a group stand beside their key.
  const double at =
      static_cast<double>(std::find(bars_.begin(), bars_.end(), bars) - bars_.begin());
  label->position->setCoords(key + (at - 0.5) * (kSideBarWidth + 0.03), std::max(value, above));
  labels_.push_back(label);
}

/// Gives screen readers the times.
void BenchmarkPlot::describe(const tuning::Benchmark& benchmark) {
  QStringList lines;
  for (const tuning::BenchmarkTiming& timing : benchmark.timings) {
    lines << tr("%1: CPU %2, %3 %4")
                 .arg(caseName(timing).replace(u'\n', u' '),
                      timeText(tuning::honestMs(timing.cpu, timing.calls).median),
                      text(benchmark.deviceName()),
                      timeText(tuning::honestMs(timing.mps, timing.calls).median));
  }
  setAccessibleName(tr("Times of a call on the CPU and on %1").arg(text(benchmark.deviceName())));
  setAccessibleDescription(lines.join(QStringLiteral("; ")));
}

void BenchmarkPlot::restyle() {
  const Theme& theme = Theme::of(this);
  setBackground(theme.plot);
  const QColor colors[] = {theme.grey, theme.blue};
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    bars_[i]->setPen(QPen(colors[i], 1));
    bars_[i]->setBrush(colors[i]);
  }
  for (QCPErrorBars* errors : errors_) errors->setPen(QPen(theme.text1, 1));
  const QFont font = textFont(kSmallText);
  for (QCPAxis* axis : {xAxis, yAxis}) {
    axis->setBasePen(QPen(theme.strongLine, 1));
    axis->setTickPen(QPen(theme.strongLine, 1));
    axis->setTickLabelColor(theme.text2);
    axis->setLabelColor(theme.text2);
    axis->setTickLabelFont(font);
    axis->setLabelFont(font);
    axis->grid()->setPen(QPen(theme.grid, 1));
    axis->grid()->setZeroLinePen(Qt::NoPen);
  }
  for (QCPItemText* label : labels_) {
    label->setFont(font);
    label->setColor(theme.text1);
  }
  legend->setFont(font);
  legend->setTextColor(theme.text2);
  legend->setBrush(Qt::NoBrush);
  legend->setBorderPen(Qt::NoPen);
  replot(rpQueuedReplot);
}

void BenchmarkPlot::resizeEvent(QResizeEvent* event) {
  QCustomPlot::resizeEvent(event);
  yAxis->ticker()->setTickCount(std::clamp(axisRect()->height() / 30, 2, 6));
}

void BenchmarkPlot::changeEvent(QEvent* event) {
  QCustomPlot::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) restyle();
}

}  // namespace highwater::views

#include "views/panes/step_panes.h"

#include <algorithm>
#include <cmath>

#include "analysis/robust_max.h"
#include "core/units.h"
#include "models/qt_text.h"

namespace highwater::views {
namespace {

QString msText(double ms) {
  if (ms <= 0) {
    return QStringLiteral("0 ms");
  }
  return QString::fromStdString(formatMs(ms));
}

QString rateText(double perS) {
  return std::isnan(perS) ? QStringLiteral("–") : QString::fromStdString(formatRate(perS));
}

/// The throughput of a step with its unit. By the device's time it is not the quotient of the
/// host's numbers beside it, and says so.
QString stepRateText(const analysis::LiveStore& store, std::size_t row) {
  const QString rate = text(store.rateText(store.steps().tokensPerS[row]));
  return store.isRatedByDevice(row) ? StepPane::tr("%1, by the device's time").arg(rate) : rate;
}

/// The newest step up to a row whose rate is known: while a run is watched, those of the last steps
/// await their device spans. The row itself if there is none near.
std::size_t newestRated(const analysis::LiveStore& store, std::size_t row) {
  constexpr std::size_t kMostBack = 16;
  const auto& rates = store.steps().tokensPerS;
  for (std::size_t back = 0; back <= std::min(kMostBack, row); ++back) {
    if (!std::isnan(rates[row - back])) return row - back;
  }
  return row;
}

}  // namespace

ValueScale makeValueScale(double max, int ticks) {
  if (!(max > 0)) {
    return {1, 1};
  }
  const double wanted = max / std::max(ticks, 1);
  const double decade = std::pow(10.0, std::floor(std::log10(wanted)));
  double tick = decade * 10;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (decade * factor >= wanted * 0.999) {
      tick = decade * factor;
      break;
    }
  }
  return {std::max(std::ceil(max / (tick / 2)) * (tick / 2), tick), tick};
}

void ValuePane::paintGround(QPainter& painter) {
  TimePane::paintGround(painter);
  const QRect plot = plotRect();
  for (const double value : ticks()) {
    painter.fillRect(QRectF(plot.left(), std::round(yAxis->coordToPixel(value)), plot.width(), 1),
                     theme().grid);
  }
}

void ValuePane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  for (const double value : ticks()) {
    const double y = yAxis->coordToPixel(value);
    if (hasLabelAt(y)) paintGutterLabel(painter, y, tickText(value));
  }
}

StepPane::StepPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                   double headroom, QWidget* parent)
    : ValuePane(store, axis, focus, parent), headroom_(headroom) {}

void StepPane::updateScales() {
  const double max = visibleMax();
  if (max > 0 || isEmpty()) {
    scale_ = makeValueScale(max, 2);  // with no step in view the scale stays as it was
  }
  yAxis->setRange(0, scale_.top * headroom_);
}

std::vector<double> StepPane::ticks() const {
  std::vector<double> values;
  for (double value = 0; !isEmpty() && value <= scale_.top * 1.001; value += scale_.tick) {
    values.push_back(value);
  }
  return values;
}

StepTimePane::StepTimePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                           QWidget* parent)
    : StepPane(store, axis, focus, 1.04, parent) {
  setObjectName(QStringLiteral("stepTimePane"));
  setAccessibleName(tr("Step time over time"));
  bars_ = new StepBars(this, store);
}

void StepTimePane::setWaitsCostLittle(bool little) {
  if (bars_->waitsCostLittle == little) return;
  bars_->waitsCostLittle = little;
  refresh();
}

/// A step far beyond the others (one that was cut by a pause) runs off the top with a mark, so that
/// it does not flatten the rest.
double StepTimePane::visibleMax() const {
  const auto [first, last] =
      store_->steps().lane.touching(shownRange().beginNs, shownRange().endNs);
  return analysis::robustMax(store_->steps().durationMs, first, last);
}

std::optional<double> StepTimePane::pinnedMedian(Pin pin) const {
  const auto& range = axis_->pinned(pin);
  if (!range) return std::nullopt;
  const analysis::StepRows rows = analysis::wholeStepsIn(*store_, *range);
  if (rows.empty()) return std::nullopt;
  Median& known = medians_[static_cast<std::size_t>(pin)];
  const analysis::SpanIndex& lane = store_->steps().lane;
  const std::int64_t beginNs = lane[rows.first].beginNs, endNs = lane[rows.last - 1].endNs;
  if (known.rows != rows || known.beginNs != beginNs ||
      known.endNs != endNs) {  // a frame must not sort a million steps again
    std::vector<double> all;
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      all.push_back(store_->steps().durationMs[row]);
    }
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
    std::nth_element(all.begin(), middle, all.end());
    known = {rows, beginNs, endNs, *middle};
  }
  return known.ms;
}

void StepTimePane::paintMarks(QPainter& painter) {
  StepPane::paintMarks(painter);
  for (const Pin pin : kPins) {
    const auto median = pinnedMedian(pin);
    if (!median || *median > yAxis->range().upper) continue;
    const TimeRange& range = *axis_->pinned(pin);
    const QRect plot = plotRect();
    const double left = std::max(scale().pixelAt(range.beginNs), double(plot.left()));
    const double right = std::min(scale().pixelAt(range.endNs), double(plot.right() + 1));
    if (right <= left) continue;
    const double y = std::round(yAxis->coordToPixel(*median)) + 0.5;
    QPen pen(theme().text1, 1);
    if (pin == Pin::kA) pen.setDashPattern({4, 3});
    painter.setPen(pen);
    painter.drawLine(QPointF(left, y), QPointF(right, y));
    const QString name = pin == Pin::kA ? tr("A") : tr("B");
    const QStringList forms{tr("%1 p50 %2").arg(name, msText(*median)), tr("%1 p50").arg(name),
                            name};
    painter.setFont(textFont(kSmallText));
    const QString label = fitText(painter, forms, right - left - 8);
    const bool above = y - 17 >= plot.top();
    const QRectF box(right - 4 - painter.fontMetrics().horizontalAdvance(label) - 6,
                     above ? y - 17 : y + 2, painter.fontMetrics().horizontalAdvance(label) + 6,
                     15);
    if (label.isEmpty()) continue;
    painter.fillRect(box, theme().plot);  // text on bars cannot be read
    painter.drawText(box, Qt::AlignCenter, label);
  }
}

QString StepTimePane::tickText(double value) const {
  const bool last = value + scale_.tick > scale_.top * 1.001;
  // Seconds from where readouts and tables have them.
  const bool inSeconds = scale_.top >= 1000;
  const QString unit = inSeconds ? QStringLiteral(" s") : QStringLiteral(" ms");
  return QString::number(inSeconds ? value / 1000 : value, 'g', 4) + (last ? unit : QString());
}

std::vector<Readout> StepTimePane::readouts() const {
  const auto index = stepAt(readoutTime());
  if (!index) {
    return {};
  }
  const auto& steps = store_->steps();
  std::vector<Readout> readouts{
      {Swatch::kSolid, theme().neutralBar, tr("step"), msText(steps.durationMs[*index])}};
  // What no step of the run has needs no name.
  const auto has = [](const analysis::SeriesPyramid& ms) {
    return ms.minMax(0, ms.size()).max > 0;
  };
  if (has(steps.fallbackMs)) {
    readouts.push_back({Swatch::kHatchVermillion, theme().vermillion, tr("fallbacks"),
                        msText(steps.fallbackMs[*index])});
  }
  if (has(steps.unplannedSyncMs)) {
    const bool little = bars_->waitsCostLittle;
    readouts.push_back({Swatch::kSolid, little ? theme().sky : theme().orange,
                        little ? tr("waits, cost little") : tr("unplanned syncs"),
                        msText(steps.unplannedSyncMs[*index])});
  }
  return readouts;
}

QString StepTimePane::rightReadout() const {
  const auto index = stepAt(readoutTime());
  if (!index) {
    return {};
  }
  const QString step = tr("step %1").arg(store_->steps().records[*index].step());
  if (!measures().small) {
    return step;
  }
  const std::size_t rated = axis_->cursor() ? *index : newestRated(*store_, *index);
  return tr("%1, %2").arg(step, text(store_->rateText(store_->steps().tokensPerS[rated])));
}

std::optional<std::size_t> StepPane::stepUnder(const QPoint& position) const {
  const std::int64_t at = scale().timeAt(position.x());
  const auto index = stepAt(at);
  if (!index) {
    return std::nullopt;
  }
  const auto& step = store_->steps().records[*index];
  return at <= step.begin_ns() + step.duration_ns() ? index : std::nullopt;
}

QString StepTimePane::tipAt(const QPoint& position) const {
  const auto index = stepUnder(position);
  if (!index || position.y() < plotRect().top()) {
    return {};
  }
  const auto& step = store_->steps().records[*index];
  return tr("step %1: %2\n%3\n%4")
      .arg(step.step())
      .arg(msText(store_->steps().durationMs[*index]))
      .arg(text(store_->batchText(step)), stepRateText(*store_, *index));
}

void StepTimePane::clicked(const QPoint& position) {
  if (const auto index = stepUnder(position)) {
    focus_->pick({Lane::kSteps, static_cast<std::uint32_t>(*index)});
  } else {
    focus_->clear();
  }
}

ThroughputPane::ThroughputPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                               QWidget* parent)
    : StepPane(store, axis, focus, 1.06, parent) {
  setObjectName(QStringLiteral("throughputPane"));
  setAccessibleName(tr("Throughput over time"));
  new RateLine(this, store);
}

/// A step of a millisecond runs off the top with a mark, so that it does not flatten the rest.
double ThroughputPane::visibleMax() const {
  const auto [first, last] =
      store_->steps().lane.touching(shownRange().beginNs, shownRange().endNs);
  return analysis::robustMax(store_->steps().tokensPerS, first, last);
}

QString ThroughputPane::tipAt(const QPoint& position) const {
  const auto index = stepAt(scale().timeAt(position.x()));
  if (!index || position.y() < plotRect().top()) {
    return {};
  }
  const auto& step = store_->steps().records[*index];
  return tr("step %1: %2\n%3")
      .arg(step.step())
      .arg(stepRateText(*store_, *index), text(store_->batchText(step)));
}

QString ThroughputPane::tickText(double value) const {
  if (value >= 1e6) return QString::number(value / 1e6, 'g', 4) + QLatin1Char('M');
  return value >= 1000 ? QString::number(value / 1000, 'g', 4) + QLatin1Char('k')
                       : QString::number(value, 'g', 4);
}

std::vector<Readout> ThroughputPane::readouts() const {
  const auto index = stepAt(readoutTime());
  if (!index) {
    return {};
  }
  const std::string unit(store_->rateUnit());
  const std::size_t rated = axis_->cursor() ? *index : newestRated(*store_, *index);
  return {{Swatch::kLine, theme().text1, text(unit), rateText(store_->steps().tokensPerS[rated])}};
}

LossPane::LossPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                   QWidget* parent)
    : ValuePane(store, axis, focus, parent) {
  setObjectName(QStringLiteral("lossPane"));
  setAccessibleName(tr("Loss over time"));
  new LossLine(this, store);
}

std::optional<std::size_t> LossPane::lossAt(std::int64_t ns) const {
  constexpr std::size_t kFarthest = 100'000;
  const auto& loss = store_->steps().loss;
  auto index = stepAt(ns);
  for (std::size_t far = 0; index && far < kFarthest; ++far) {
    if (!std::isnan(loss[*index])) {
      return index;
    }
    index = *index > 0 ? std::optional(*index - 1) : std::nullopt;
  }
  return std::nullopt;
}

void LossPane::updateScales() {
  const auto [first, last] =
      store_->steps().lane.touching(shownRange().beginNs, shownRange().endNs);
  analysis::MinMax range{0, 0};
  bool known = first < last;
  if (known) {
    range = store_->steps().loss.minMax(first, last);
    known = !std::isnan(range.min);
  }
  if (!known) {
    const auto index = lossAt(shownRange().endNs);
    if (!index) {
      return;
    }
    range.min = range.max = store_->steps().loss[*index];
  }
  lossScale_ = makeLossScale(range.min, range.max);
  yAxis->setRange(lossScale_.bottom, lossScale_.top);
}

LossScale makeLossScale(double min, double max) {
  // Never narrower than the decimals that a label has.
  const double least = std::max(std::abs(max), 1e-3) * 0.02;
  const double middle = (min + max) / 2, half = std::max(max - min, least) / 2 * 1.15;
  LossScale scale{middle - half, middle + half, 1, 0};
  const double wanted = half;  // some two labels
  const double decade = std::pow(10.0, std::floor(std::log10(wanted)));
  scale.tick = decade;
  for (const double factor : {2.0, 5.0}) {
    if (decade * factor <= wanted) {
      scale.tick = decade * factor;
    }
  }
  scale.decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(scale.tick) - 1e-9)), 0, 6);
  return scale;
}

std::vector<double> LossPane::ticks() const {
  std::vector<double> values;
  if (!store_->steps().lastLossRow) {
    return values;
  }
  // A scale has at most five labels. The limit ends the loop whatever the scale is.
  constexpr int kMostTicks = 16;
  const double first = std::ceil(lossScale_.bottom / lossScale_.tick);
  for (int i = 0; i < kMostTicks; ++i) {
    const double value = (first + i) * lossScale_.tick;
    if (!(value <= lossScale_.top)) {
      break;
    }
    values.push_back(value);
  }
  return values;
}

QString LossPane::tickText(double value) const {
  return QString::number(value, 'f', lossScale_.decimals);
}

bool LossPane::hasLabelAt(double y) const {
  return y > plotRect().top() + 3 && y < plotRect().bottom() - 1;
}

std::vector<Readout> LossPane::readouts() const {
  const auto index = lossAt(readoutTime());
  if (!index) {
    return {};
  }
  return {{Swatch::kLine, theme().text1, tr("loss"),
           QString::number(store_->steps().loss[*index], 'f', 3)}};
}

QString LossPane::rightReadout() const {
  const auto index = lossAt(readoutTime());
  return index ? tr("read at step %1").arg(store_->steps().records[*index].step()) : QString();
}

QString LossPane::tipAt(const QPoint& position) const {
  const auto index = lossAt(scale().timeAt(position.x()));
  if (!index || position.y() < plotRect().top()) {
    return {};
  }
  return tr("step %1: loss %2")
      .arg(store_->steps().records[*index].step())
      .arg(store_->steps().loss[*index], 0, 'f', 4);
}

QString LossPane::emptyText() const {
  if (store_->steps().lastLossRow) {
    return {};
  }
  return store_->ownScript() ? tr("The losses of a script are not read")
                             : tr("The loss of each step in which it was read");
}

}  // namespace highwater::views

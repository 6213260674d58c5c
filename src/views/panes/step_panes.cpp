#include "views/panes/step_panes.h"

#include <algorithm>
#include <cmath>

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

StepPane::StepPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                   double headroom, QWidget* parent)
    : TimePane(store, axis, focus, parent), headroom_(headroom) {}

void StepPane::updateScales() {
  const double max = visibleMax();
  if (max > 0 || isEmpty()) {
    scale_ = makeValueScale(max, 2);  // with no step in view the scale stays as it was
  }
  yAxis->setRange(0, scale_.top * headroom_);
}

template <typename F>
void StepPane::forEachTick(F&& f) const {
  for (double value = 0; !isEmpty() && value <= scale_.top * 1.001; value += scale_.tick) {
    f(value);
  }
}

void StepPane::paintGround(QPainter& painter) {
  TimePane::paintGround(painter);
  const QRect plot = plotRect();
  forEachTick([&](double value) {
    painter.fillRect(QRectF(plot.left(), std::round(yAxis->coordToPixel(value)), plot.width(), 1),
                     theme().grid);
  });
}

void StepPane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  forEachTick([&](double value) {
    paintGutterLabel(painter, yAxis->coordToPixel(value), tickText(value));
  });
}

StepTimePane::StepTimePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                           QWidget* parent)
    : StepPane(store, axis, focus, 1.04, parent) {
  setObjectName(QStringLiteral("stepTimePane"));
  setAccessibleName(tr("Step time over time"));
  new StepBars(this, store);
}

double StepTimePane::visibleMax() const {
  const auto [first, last] =
      store_->steps().lane.touching(shownRange().beginNs, shownRange().endNs);
  return first == last ? 0 : store_->steps().durationMs.minMax(first, last).max;
}

QString StepTimePane::tickText(double value) const {
  const bool last = value + scale_.tick > scale_.top * 1.001;
  return QString::number(value, 'g', 4) + (last ? QStringLiteral(" ms") : QString());
}

std::vector<Readout> StepTimePane::readouts() const {
  const auto index = stepAt(readoutTime());
  if (!index) {
    return {};
  }
  const auto& steps = store_->steps();
  return {{Swatch::kSolid, theme().neutralBar, tr("step"), msText(steps.durationMs[*index])},
          {Swatch::kHatchVermillion, theme().vermillion, tr("fallbacks"),
           msText(steps.fallbackMs[*index])},
          {Swatch::kSolid, theme().orange, tr("unplanned syncs"),
           msText(steps.unplannedSyncMs[*index])}};
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
  return tr("%1, %2").arg(step, text(store_->rateText(store_->steps().tokensPerS[*index])));
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
      .arg(text(store_->batchText(step)),
           text(store_->rateText(store_->steps().tokensPerS[*index])));
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

/// A step that seems far faster than the others (its work was only queued) runs off the top, so
/// that it does not flatten the rest; at most one in ten does.
double ThroughputPane::visibleMax() const {
  const auto& series = store_->steps().tokensPerS;
  const auto [first, last] =
      store_->steps().lane.touching(shownRange().beginNs, shownRange().endNs);
  if (first == last) {
    return 0;
  }
  std::vector<double> sample;
  const std::size_t stride = std::max<std::size_t>((last - first) / 256, 1);
  for (std::size_t i = first; i < last; i += stride) {
    if (!std::isnan(series[i])) {
      sample.push_back(series[i]);
    }
  }
  if (sample.empty()) {
    return 0;
  }
  std::sort(sample.begin(), sample.end());
  const double median = sample[sample.size() / 2], most = sample[sample.size() * 9 / 10];
  return std::min(series.minMax(first, last).max, std::max(median * 3, most));
}

QString ThroughputPane::tickText(double value) const {
  return value >= 1000 ? QString::number(value / 1000, 'g', 4) + QLatin1Char('k')
                       : QString::number(value, 'g', 4);
}

std::vector<Readout> ThroughputPane::readouts() const {
  const auto index = stepAt(readoutTime());
  if (!index) {
    return {};
  }
  const std::string unit(store_->rateUnit());
  return {{Swatch::kLine, theme().text1, text(unit), rateText(store_->steps().tokensPerS[*index])}};
}

QString ThroughputPane::tipAt(const QPoint& position) const {
  const auto index = stepUnder(position);
  if (!index || position.y() < plotRect().top()) {
    return {};
  }
  const auto& step = store_->steps().records[*index];
  return tr("step %1: %2\n%3")
      .arg(step.step())
      .arg(text(store_->rateText(store_->steps().tokensPerS[*index])),
           text(store_->batchText(step)));
}

}  // namespace highwater::views

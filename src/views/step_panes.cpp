#include "views/step_panes.h"

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace highwater::views {
namespace {

QString msText(double ms) {
  if (ms <= 0) {
    return QStringLiteral("0 ms");
  }
  return QString::fromStdString(formatDuration(static_cast<std::int64_t>(ms * kNsPerMs)));
}

double visibleMax(const analysis::LiveStore& store, const analysis::SeriesPyramid& series,
                  TimeRange range) {
  const auto [first, last] = store.steps().lane.touching(range.beginNs, range.endNs);
  return first == last ? 0 : series.minMax(first, last).max;
}

/// The largest throughput that the scale must show: one step that seems far faster than the others
/// (its work was only queued) goes off the top rather than flattening the rest; of ten one at most.
double usualMax(const analysis::LiveStore& store, TimeRange range) {
  const auto& series = store.steps().tokensPerS;
  const auto [first, last] = store.steps().lane.touching(range.beginNs, range.endNs);
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

/// The ticks of a value scale, from its bottom to its top.
template <typename F>
void forEachTick(const ValueScale& scale, F&& f) {
  for (double value = 0; value <= scale.top * 1.001; value += scale.tick) {
    f(value);
  }
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

StepTimePane::StepTimePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                           QWidget* parent)
    : TimePane(store, axis, focus, parent) {
  setObjectName(QStringLiteral("stepTimePane"));
  setAccessibleName(tr("Step time over time"));
  new StepBars(this, store);
}

void StepTimePane::updateScales() {
  const double max = visibleMax(*store_, store_->steps().durationMs, shownRange());
  if (max > 0 || store_->steps().records.empty()) {
    scale_ = makeValueScale(max, 2);  // where no step is in sight the scale stays as it was
  }
  yAxis->setRange(0, scale_.top * 1.04);
}

void StepTimePane::paintGround(QPainter& painter) {
  TimePane::paintGround(painter);
  if (store_->steps().records.empty()) {
    return;
  }
  const QRect plot = plotRect();
  forEachTick(scale_, [&](double value) {
    painter.fillRect(QRectF(plot.left(), std::round(yAxis->coordToPixel(value)), plot.width(), 1),
                     theme().grid);
  });
}

void StepTimePane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  if (store_->steps().records.empty()) {
    return;
  }
  forEachTick(scale_, [&](double value) {
    const bool last = value + scale_.tick > scale_.top * 1.001;
    paintGutterLabel(painter, yAxis->coordToPixel(value),
                     QString::number(value, 'g', 4) + (last ? QStringLiteral(" ms") : QString()));
  });
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
  return tr("%1, %2 tokens/s")
      .arg(step, QString::fromStdString(formatRate(store_->steps().tokensPerS[*index])));
}

QString StepTimePane::emptyText() const {
  return store_->steps().records.empty() ? tr("Each step as a bar, with the time it lost")
                                         : QString();
}

QString StepTimePane::tipAt(const QPoint& position) const {
  const std::int64_t at = scale().timeAt(position.x());
  const auto index = stepAt(at);
  if (!index || position.y() < plotRect().top()) {
    return {};
  }
  const auto& step = store_->steps().records[*index];
  if (at > step.begin_ns() + step.duration_ns()) {
    return {};
  }
  return tr("step %1: %2\nbatch size %3, sequence length %4\n%5 tokens/s")
      .arg(step.step())
      .arg(msText(store_->steps().durationMs[*index]))
      .arg(step.batch_size())
      .arg(step.sequence_length())
      .arg(QString::fromStdString(formatRate(store_->steps().tokensPerS[*index])));
}

void StepTimePane::clicked(const QPoint& position) {
  const std::int64_t at = scale().timeAt(position.x());
  const auto index = stepAt(at);
  if (index &&
      at <= timeRangeOf(*store_, {Lane::kSteps, static_cast<std::uint32_t>(*index)}).endNs) {
    focus_->pick({Lane::kSteps, static_cast<std::uint32_t>(*index)});
  } else {
    focus_->clear();
  }
}

ThroughputPane::ThroughputPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                               QWidget* parent)
    : TimePane(store, axis, focus, parent) {
  setObjectName(QStringLiteral("throughputPane"));
  setAccessibleName(tr("Tokens per second over time"));
  new RateLine(this, store);
}

void ThroughputPane::updateScales() {
  const double max = usualMax(*store_, shownRange());
  if (max > 0 || store_->steps().records.empty()) {
    scale_ = makeValueScale(max, 2);
  }
  yAxis->setRange(0, scale_.top * 1.06);
}

void ThroughputPane::paintGround(QPainter& painter) {
  TimePane::paintGround(painter);
  if (store_->steps().records.empty()) {
    return;
  }
  const QRect plot = plotRect();
  forEachTick(scale_, [&](double value) {
    painter.fillRect(QRectF(plot.left(), std::round(yAxis->coordToPixel(value)), plot.width(), 1),
                     theme().grid);
  });
}

void ThroughputPane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  if (store_->steps().records.empty()) {
    return;
  }
  forEachTick(scale_, [&](double value) {
    const QString text = value >= 1000 ? QString::number(value / 1000, 'g', 4) + QLatin1Char('k')
                                       : QString::number(value, 'g', 4);
    paintGutterLabel(painter, yAxis->coordToPixel(value), value == 0 ? QStringLiteral("0") : text);
  });
}

std::vector<Readout> ThroughputPane::readouts() const {
  const auto index = stepAt(readoutTime());
  if (!index) {
    return {};
  }
  return {{Swatch::kLine, theme().text1, tr("tokens/s"),
           QString::fromStdString(formatRate(store_->steps().tokensPerS[*index]))}};
}

}  // namespace highwater::views

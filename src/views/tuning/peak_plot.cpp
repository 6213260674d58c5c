#include "views/tuning/peak_plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/qt_text.h"
#include "views/panes/paint.h"
#include "views/tuning/headroom_grid.h"

namespace highwater::views {
namespace {

constexpr int kPredictionsPerOctave = 6;
/// The scale ends a little above the largest peak that was measured or is safe, or at a limit that
/// is not much farther.
constexpr double kRoomAbove = 1.15, kNearLimit = 2;

}  // namespace

PeakPlot::PeakPlot(const models::TuningState* state, QWidget* parent)
    : SettingPlot(state, parent), lower_(addGraph()), upper_(addGraph()) {
  setObjectName(QStringLiteral("peakPlot"));
  setAccessibleName(tr("Predicted driver memory of the batch sizes"));
  for (QCPGraph* each : {lower_, upper_}) {
    each->setPen(Qt::NoPen);
    each->setSelectable(QCP::stNone);
    each->setAdaptiveSampling(false);
  }
  upper_->setChannelFillGraph(lower_);
  new PaintLayerable(this, QStringLiteral("main"), [this](QPainter& p) { paintLimits(p); });
  likely_ = makeCurve(1);
  safe_ = makeCurve(2);
  useOctaves(xAxis);
  yAxis->setNumberFormat(QStringLiteral("g"));
  yAxis->setNumberPrecision(4);
  yAxis->grid()->setVisible(true);
  new PaintLayerable(this, QStringLiteral("axes"), [this](QPainter& p) { paintCaptions(p); });
  new PaintLayerable(this, QStringLiteral("legend"), [this](QPainter& p) { paintLabels(p); });
  PeakPlot::restyle();
  PeakPlot::refreshData(Change::kModel);
}

QColor PeakPlot::boundsColor(const Theme& theme) {
  QColor color = theme.blue;
  color.setAlphaF(theme.isDark ? 0.45F : 0.3F);
  return color;
}

void PeakPlot::restyle() {
  SettingPlot::restyle();
  upper_->setBrush(boundsColor(theme()));
}

void PeakPlot::predict() {
  predictions_.clear();
  const auto [first, last] = shownBatches(1);
  const GridAxis axis = GridAxis::spanning(first, last, kPredictionsPerOctave);
  for (int cell = 0; cell < axis.cells; ++cell) {
    const auto batch = static_cast<std::uint32_t>(std::lround(axis.at(cell)));
    if (!predictions_.empty() && predictions_.back().batch == batch) continue;
    predictions_.push_back({batch, state_->model()->driver({batch, 1})});
  }
}

void PeakPlot::refreshData(Change change) {
  if (!state_->model()) {
    predictions_.clear();
    scheduleReplot();
    return;
  }
  const bool isNew = change == Change::kModel || change == Change::kReserve;
  if (!isVisible()) {
    isStale_ = isStale_ || isNew;
    return;
  }
  if (isStale_ || change == Change::kModel) predict();
  if (std::exchange(isStale_, false) || isNew) {
    largestSafe_ = state_->largestSafeBatch(1);
    fitAxes();
    showCurves();
  }
  showPointsAndChoice();
  scheduleReplot();
}

void PeakPlot::fitAxes() {
  const MemoryLimits& limits = state_->model()->limits();
  recommended_ = static_cast<double>(limits.recommendedBytes);
  double most = 0;
  for (const models::TriedSetting& each : state_->tried()) {
    most = std::max(most, static_cast<double>(each.peakDriver));
  }
  const Predicted* last = predictions_.empty() ? nullptr : &predictions_.back();
  for (const Predicted& each : predictions_) {
    if (!largestSafe_ || each.batch <= *largestSafe_) last = &each;
  }
  if (last) most = std::max(most, static_cast<double>(last->peak.bytes));
  limitIsInScale_ = recommended_ > 0 && recommended_ <= kNearLimit * most;
  most = kRoomAbove * std::max(most, limitIsInScale_ ? recommended_ : 0);
  unit_ = memoryUnit(most);
  yAxis->setRange(0, std::max(most / unit_, 1e-3));
  if (predictions_.size() < 2) return;
  xAxis->setRange(predictions_.front().batch, predictions_.back().batch);
  fitTicks();
}

void PeakPlot::fitTicks() {
  fitOctaves(xAxis, plotRect().width() / 40);
  yAxis->ticker()->setTickCount(std::clamp(plotRect().height() / 45, 2, 7));
}

void PeakPlot::showCurves() {
  QVector<double> batches, likely, lower, upper;
  for (const Predicted& each : predictions_) {
    batches << each.batch;
    likely << static_cast<double>(each.peak.bytes) / unit_;
    lower << static_cast<double>(each.peak.lower) / unit_;
    upper << static_cast<double>(each.peak.upper) / unit_;
  }
  lower_->setData(batches, lower, true);
  upper_->setData(batches, upper, true);
  likely_->setData(batches, likely);
  const bool isShown = largestSafe_ && xAxis->range().contains(*largestSafe_);
  const double x = isShown ? *largestSafe_ : std::numeric_limits<double>::quiet_NaN();
  safe_->setData({x, x}, {0, yAxis->range().upper});
}

double PeakPlot::peakOf(tuning::Setting setting) const {
  for (const models::TriedSetting& each : state_->tried()) {
    if (each.setting == setting && each.peakDriver > 0) {
      return static_cast<double>(each.peakDriver);
    }
  }
  return static_cast<double>(state_->model()->driver(setting).bytes);
}

void PeakPlot::showPointsAndChoice() {
  for (const PointLook look : kLooks) {
    QVector<double> keys, values;
    const auto add = [&](tuning::Setting setting) {
      if (!placeOf(setting)) return;
      keys << setting.batch;
      values << peakOf(setting) / unit_;
    };
    for (const SettingPoint& each : pointsOf(*state_, marks())) {
      if (each.look == look) add(each.setting);
    }
    if (look == PointLook::kChosen) add(state_->chosen());
    showPoints(look, keys, values);
  }
}

std::optional<tuning::Setting> PeakPlot::settingAt(const QPoint& position) const {
  if (!state_->model() || predictions_.empty()) return std::nullopt;
  if (const auto point = pointAt(position)) return point;
  if (!plotRect().contains(position)) return std::nullopt;
  const double batch = std::round(xAxis->pixelToCoord(position.x() + 0.5));
  return tuning::Setting{
      static_cast<std::uint32_t>(std::clamp<double>(batch, 1, state_->limits().batch)), 1};
}

std::optional<QPointF> PeakPlot::placeOf(tuning::Setting setting) const {
  if (!state_->model() || setting.batch == 0 || !xAxis->range().contains(setting.batch)) {
    return std::nullopt;
  }
  const double peak = peakOf(setting) / unit_;
  if (peak > yAxis->range().upper) return std::nullopt;
  return QPointF(xAxis->coordToPixel(setting.batch), yAxis->coordToPixel(peak));
}

std::optional<tuning::Setting> PeakPlot::neighbour(tuning::Setting from, int key, bool far) const {
  if (key != Qt::Key_Left && key != Qt::Key_Right) return std::nullopt;
  const bool up = key == Qt::Key_Right;
  const double factor = far ? 2 : std::exp2(1.0 / kPredictionsPerOctave);
  const double next = up ? std::max(from.batch * factor, from.batch + 1.0)
                         : std::min(from.batch / factor, from.batch - 1.0);
  const double batch = std::clamp<double>(std::round(next), 1, state_->limits().batch);
  if (batch == from.batch || !xAxis->range().contains(batch)) return std::nullopt;
  return tuning::Setting{static_cast<std::uint32_t>(batch), 1};
}

void PeakPlot::showEvent(QShowEvent* event) {
  SettingPlot::showEvent(event);
  if (isStale_) refreshData(Change::kModel);
}

void PeakPlot::resizeEvent(QResizeEvent* event) {
  QCustomPlot::resizeEvent(event);
  fitTicks();
}

void PeakPlot::paintLimits(QPainter& painter) {
  if (!state_->model() || !limitIsInScale_) return;
  const QRect plot = plotRect();
  const auto line = [&](double bytes, const QList<qreal>& dashes) {
    const double y = std::round(yAxis->coordToPixel(bytes / unit_)) + 0.5;
    QPen pen(theme().text1, 1);
    if (!dashes.isEmpty()) pen.setDashPattern(dashes);
    painter.setPen(pen);
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    return y;
  };
  const double y = line(recommended_, {});
  painter.fillRect(QRectF(plot.left(), plot.top(), plot.width(), y - plot.top()),
                   hatchBrush(theme().strongLine, Qt::transparent, 6));
  const auto safe = static_cast<double>(state_->model()->safeBytes(state_->reserve()));
  if (safe > 0 && safe < recommended_) line(safe, {10, 3, 2, 3});
}

void PeakPlot::paintCaptions(QPainter& painter) {
  if (!state_->model()) return;
  paintYCaption(painter, memoryUnitName(unit_));
  paintXCaption(painter, {tr("batch size")});
}

void PeakPlot::paintLabels(QPainter& painter) {
  forgetLabels();
  if (!state_->model()) return;
  const QRect plot = plotRect();
  LabelPlacer placer(plot);
  avoidPoints(placer);
  const auto write = [&](const QString& label, std::initializer_list<QPointF> corners,
                         const QSizeF& size) {
    for (const QPointF& corner : corners) {
      const QRectF rect(corner, size);
      if (!placer.isFree(rect)) continue;
      placer.avoid(rect);
      painter.fillRect(rect, theme().plot);
      paintLabel(painter, rect, label);
      return;
    }
  };
  const auto sizeOf = [&painter](const QString& label) {
    return QSizeF(painter.fontMetrics().horizontalAdvance(label) + 8,
                  painter.fontMetrics().height());
  };
  if (largestSafe_ && xAxis->range().contains(*largestSafe_)) {
    painter.setFont(textFont(kSmallText, true));
    painter.setPen(theme().text1);
    const QString label = QString::number(*largestSafe_);
    const QSizeF size = sizeOf(label);
    const double left = std::clamp(xAxis->coordToPixel(*largestSafe_) - size.width() / 2,
                                   double(plot.left()), plot.right() + 1 - size.width());
    const double middle = plot.center().y() - size.height() / 2;
    write(label, {{left, middle}, {left, middle + 40}, {left, middle - 40}}, size);
  }
  if (recommended_ <= 0) return;
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme().text2);
  const QString limit = tr("recommended %1").arg(bytesText(recommended_));
  if (!limitIsInScale_) {
    const QString far = tr("%1, beyond the scale").arg(limit);
    write(far, {{plot.left() + 4.0, plot.top() + 2.0}}, sizeOf(far));
    return;
  }
  const double y = yAxis->coordToPixel(recommended_ / unit_);
  const QSizeF size = sizeOf(limit);
  const double above = y - size.height() - 2, left = plot.left() + 4.0;
  const double middle = plot.center().x() - size.width() / 2,
               right = plot.right() - size.width() - 4;
  write(limit,
        {{left, above},
         {left, y + 3},
         {middle, above},
         {middle, y + 3},
         {right, above},
         {right, y + 3}},
        size);
}

}  // namespace highwater::views

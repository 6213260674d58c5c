#include "views/tuning/throughput_plot.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/qt_text.h"
#include "views/panes/paint.h"

namespace highwater::views {
namespace {

/// Limits that are more than this many times the largest peak would press the points together.
constexpr double kFarLimit = 3;
constexpr double kLabelGap = 10, kChosenGap = 14;  ///< from a point's centre to its label
constexpr int kMostApart = 3;                      ///< steps of 8 pixels
constexpr double kFrontPiece = 5;                  ///< pixels

/// "20k", "17.5k": as formatRate(), without a decimal that is 0.
class RateTicker final : public QCPAxisTicker {
 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    return text(formatRate(tick)).replace(QLatin1String(".0k"), QLatin1String("k"));
  }
};

}  // namespace

ThroughputPlot::ThroughputPlot(const models::TuningState* state, QWidget* parent)
    : SettingPlot(state, parent) {
  setObjectName(QStringLiteral("throughputPlot"));
  setAccessibleName(tr("Throughput of the settings against their peak driver memory"));
  new PaintLayerable(this, QStringLiteral("main"), [this](QPainter& p) { paintLimits(p); });
  frontLine_ = addGraph();
  center_ = addGraph();
  center_->setLineStyle(QCPGraph::lsNone);
  for (QCPGraph* graph : {frontLine_, center_}) graph->setSelectable(QCP::stNone);
  frontLine_->setAntialiased(true);
  errors_ = new QCPErrorBars(xAxis, yAxis);
  errors_->setErrorType(QCPErrorBars::etValueError);
  errors_->setDataPlottable(center_);
  errors_->setAntialiased(false);
  errors_->setSymbolGap(0);
  errors_->setWhiskerWidth(5);
  errors_->setSelectable(QCP::stNone);
  yAxis->setTicker(QSharedPointer<RateTicker>::create());
  xAxis->setNumberFormat(QStringLiteral("g"));
  xAxis->setNumberPrecision(4);
  new PaintLayerable(this, QStringLiteral("axes"), [this](QPainter& p) { paintCaptions(p); });
  new PaintLayerable(this, QStringLiteral("legend"), [this](QPainter& p) { paintLabels(p); });
  ThroughputPlot::restyle();
  ThroughputPlot::refreshData(Change::kModel);
}

void ThroughputPlot::restyle() {
  SettingPlot::restyle();
  frontLine_->setPen(QPen(theme().text1, 1.5));
  errors_->setPen(QPen(theme().text1, 1));
}

std::vector<models::TriedSetting> ThroughputPlot::measured() const {
  std::vector<models::TriedSetting> all;
  for (const models::TriedSetting& each : state_->tried()) {
    if (each.steps > 0 && each.peakDriver > 0 && std::isfinite(each.tokensPerS)) {
      all.push_back(each);
    }
  }
  return all;
}

QPointF ThroughputPlot::coordinatesOf(const models::TriedSetting& tried) const {
  return {static_cast<double>(tried.peakDriver) / unit_, tried.tokensPerS};
}

/// Throughput is compared within one length: that of the chosen setting if it was measured, else of
/// the current one, else the one with the most settings.
void ThroughputPlot::chooseLength(const std::vector<models::TriedSetting>& measured) {
  std::map<std::uint32_t, int> counts;
  for (const models::TriedSetting& each : measured) ++counts[each.setting.length];
  for (const tuning::Setting wanted : {state_->chosen(), state_->current()}) {
    if (wanted.batch > 0 && counts.count(wanted.length) > 0) {
      length_ = wanted.length;
      return;
    }
  }
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  length_ = most == counts.end() ? 0 : most->first;
}

void ThroughputPlot::fitAxes(const std::vector<models::TriedSetting>& measured) {
  double peak = 0, slowest = 0, fastest = 0;
  for (const models::TriedSetting& each : measured) {
    peak = std::max(peak, static_cast<double>(each.peakDriver));
    slowest = fastest == 0 ? each.lowerQuartile : std::min(slowest, each.lowerQuartile);
    fastest = std::max(fastest, each.upperQuartile);
  }
  const MemoryLimits limits = state_->model() ? state_->model()->limits() : MemoryLimits{};
  const auto recommended = static_cast<double>(limits.recommendedBytes);
  limitsInScale_ = recommended > 0 && peak > 0 && recommended <= kFarLimit * peak;
  const double most = limitsInScale_ ? std::max(peak * 1.08, recommended * 1.25) : peak * 1.15;
  unit_ = memoryUnit(most);
  recommended_ = recommended / unit_;
  safe_ = state_->model()
              ? static_cast<double>(state_->model()->safeBytes(state_->reserve())) / unit_
              : 0;
  xAxis->setRange(0, std::max(most / unit_, 1e-3));
  // From 0 where that costs little of the height, else a little below the slowest.
  const double room = std::max(0.08 * (fastest - slowest), 0.02 * fastest);
  const double from = slowest < 0.4 * fastest ? 0 : std::max(slowest - 1.5 * room, 0.0);
  yAxis->setRange(from, std::max(fastest + 2 * room, from + 1));
  fitTicks();
}

void ThroughputPlot::fitTicks() {
  xAxis->ticker()->setTickCount(std::clamp(plotRect().width() / 70, 2, 8));
  yAxis->ticker()->setTickCount(std::clamp(plotRect().height() / 45, 2, 7));
}

void ThroughputPlot::refreshData(Change) {
  const std::vector<models::TriedSetting> all = measured();
  chooseLength(all);
  fitAxes(all);
  for (QCPAxis* axis : {xAxis, yAxis}) {
    axis->setVisible(!all.empty());
    axis->grid()->setVisible(!all.empty());
  }
  std::vector<models::TriedSetting> compared;
  for (const models::TriedSetting& each : all) {
    if (each.setting.length == length_) compared.push_back(each);
  }
  std::sort(compared.begin(), compared.end(), [](const auto& a, const auto& b) {
    return std::pair(a.peakDriver, -a.tokensPerS) < std::pair(b.peakDriver, -b.tokensPerS);
  });
  QVector<double> keys, values, below, above;
  QVector<double> frontKeys, frontValues;
  front_.clear();
  for (const models::TriedSetting& each : compared) {
    const QPointF at = coordinatesOf(each);
    keys << at.x();
    values << at.y();
    below << each.tokensPerS - each.lowerQuartile;
    above << each.upperQuartile - each.tokensPerS;
    if (!each.outOfMemory && !each.fewSteps &&
        (frontValues.isEmpty() || at.y() > frontValues.back())) {
      frontKeys << at.x();
      frontValues << at.y();
      front_.push_back(each.setting);
    }
  }
  center_->setData(keys, values, true);
  errors_->setData(below, above);
  frontLine_->setData(frontKeys, frontValues, true);
  for (const PointLook look : kLooks) {
    QVector<double> x, y;
    for (const models::TriedSetting& each : all) {
      const PointLook own = lookOf(each, marks());
      const bool faint = each.setting.length != length_ && own == PointLook::kMeasured;
      const bool isChosen = look == PointLook::kChosen && each.setting == state_->chosen();
      if (isChosen || look == (faint ? PointLook::kNotCompared : own)) {
        x << coordinatesOf(each).x();
        y << coordinatesOf(each).y();
      }
    }
    showPoints(look, x, y);
  }
  scheduleReplot();
}

std::optional<tuning::Setting> ThroughputPlot::settingAt(const QPoint& position) const {
  return pointAt(position);
}

std::optional<QPointF> ThroughputPlot::placeOf(tuning::Setting setting) const {
  for (const models::TriedSetting& each : measured()) {
    if (each.setting != setting) continue;
    const QPointF at = coordinatesOf(each);
    return QPointF(xAxis->coordToPixel(at.x()), yAxis->coordToPixel(at.y()));
  }
  return std::nullopt;
}

/// Left and right lead through the settings of the length by memory, up and down to the nearest
/// one of another length.
std::optional<tuning::Setting> ThroughputPlot::neighbour(tuning::Setting from, int key,
                                                         bool) const {
  std::vector<models::TriedSetting> all = measured();
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.peakDriver < b.peakDriver; });
  const auto here =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.setting == from; });
  if (here == all.end()) {
    return front_.empty() ? std::nullopt : std::optional(front_.front());
  }
  const bool sideways = key == Qt::Key_Left || key == Qt::Key_Right;
  const int direction = key == Qt::Key_Right || key == Qt::Key_Up ? 1 : -1;
  std::optional<tuning::Setting> found;
  if (sideways) {
    for (auto i = here - all.begin() + direction; i >= 0 && i < std::ssize(all); i += direction) {
      const tuning::Setting each = all[static_cast<std::size_t>(i)].setting;
      if (each.length == from.length) return each;
    }
    return std::nullopt;
  }
  for (const models::TriedSetting& each : all) {
    const std::int64_t off = direction * (std::int64_t{each.setting.length} - from.length);
    if (off <= 0) continue;
    const auto distance = [&](tuning::Setting other) {
      return std::pair(direction * (std::int64_t{other.length} - from.length),
                       std::abs(std::int64_t{other.batch} - from.batch));
    };
    if (!found || distance(each.setting) < distance(*found)) found = each.setting;
  }
  return found;
}

void ThroughputPlot::resizeEvent(QResizeEvent* event) {
  QCustomPlot::resizeEvent(event);
  fitTicks();
}

void ThroughputPlot::paintLimits(QPainter& painter) {
  if (!limitsInScale_ || length_ == 0) return;
  const QRect plot = plotRect();
  const double beyond = std::round(xAxis->coordToPixel(recommended_));
  painter.fillRect(QRectF(beyond, plot.top(), plot.right() + 1 - beyond, plot.height()),
                   hatchBrush(theme().strongLine, Qt::transparent, 6));
  QPen pen(theme().text1, 1);
  painter.setPen(pen);
  painter.drawLine(QPointF(beyond + 0.5, plot.top()), QPointF(beyond + 0.5, plot.bottom()));
  if (safe_ > 0 && safe_ < recommended_) {
    const double x = std::round(xAxis->coordToPixel(safe_)) + 0.5;
    pen.setDashPattern({10, 3, 2, 3});
    painter.setPen(pen);
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
  }
}

void ThroughputPlot::paintCaptions(QPainter& painter) {
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme().text2);
  const QRect plot = plotRect();
  if (length_ == 0) {
    painter.drawText(plot.adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap,
                     tr("No throughput yet: a setting is measured once it has trained for some "
                        "steps in a row"));
    return;
  }
  paintYCaption(painter, state_->rateUnit());
  const QString unit = memoryUnitName(unit_);
  paintXCaption(painter,
                {tr("peak, driver allocated, %1").arg(unit), tr("peak, %1").arg(unit), unit});
}

void ThroughputPlot::paintLabels(QPainter& painter) {
  forgetLabels();
  if (length_ == 0) return;
  const QRect plot = plotRect();
  LabelPlacer placer(plot);
  avoidPoints(placer);
  const auto boxOf = [](const QFont& font, const QString& text) {
    const QFontMetricsF metrics(font);
    return QSizeF(metrics.horizontalAdvance(text) + 4, metrics.height());
  };
  const QFont small = textFont(kSmallText), bold = textFont(kSmallText, true);
  // Nothing is written across a limit's line.
  if (limitsInScale_) {
    for (const double limit : {safe_, recommended_}) {
      placer.avoid(QRectF(xAxis->coordToPixel(limit) - 1, plot.top(), 3, plot.height()));
    }
  }
  // Nor across the front.
  for (std::size_t i = 1; i < front_.size(); ++i) {
    const QPointF from = *placeOf(front_[i - 1]), to = *placeOf(front_[i]);
    const int pieces = std::max(static_cast<int>(QLineF(from, to).length() / kFrontPiece), 1);
    for (int piece = 0; piece <= pieces; ++piece) {
      const QPointF at = from + (to - from) * piece / pieces;
      placer.avoid(QRectF(at.x() - 2, at.y() - 2, 4, 4));
    }
  }
  const std::vector<models::TriedSetting> all = measured();
  for (const models::TriedSetting& each : all) {
    if (each.setting.length != length_) continue;
    const double x = placeOf(each.setting)->x();
    const double top = yAxis->coordToPixel(each.upperQuartile);
    placer.avoid(QRectF(x - 3, top, 6, yAxis->coordToPixel(each.lowerQuartile) - top));
  }
  const auto labelAll = [&](bool compared) {
    for (const models::TriedSetting& each : all) {
      const bool own = each.setting.length == length_;
      if (own != compared) continue;
      const bool best = marks().recommended == each.setting;
      QString number = own ? QString::number(each.setting.batch) : shortText(each.setting);
      if (each.fewSteps) number = tr("%1, few steps").arg(number);
      const QStringList forms =
          best ? QStringList{tr("%1, recommended").arg(number), number} : QStringList{number};
      const QFont& font = best ? bold : small;
      for (const QString& form : forms) {
        const double gap = each.setting == state_->chosen() ? kChosenGap : kLabelGap;
        std::optional<QRectF> rect;
        // The recommended one is named in any case, if need be a little apart.
        for (int apart = 0; !rect && apart <= (best ? kMostApart : 0); ++apart) {
          rect = placer.place(*placeOf(each.setting), boxOf(font, form), gap + 8 * apart);
        }
        if (!rect) continue;
        painter.setFont(font);
        painter.setPen(best ? theme().text1 : own ? theme().text2 : theme().text3);
        paintLabel(painter, *rect, form);
        break;
      }
    }
  };
  labelAll(true);
  // The limits' names stand at the foot of their lines, on their left.
  painter.setFont(small);
  painter.setPen(theme().text2);
  const auto nameLimit = [&](double limit, const QStringList& forms) {
    const double x = xAxis->coordToPixel(limit);
    for (const QString& form : forms) {
      const QSizeF size = boxOf(small, form);
      for (const QPointF corner :
           {QPointF(x - size.width() - 4, plot.bottom() - size.height() - 2),
            QPointF(x - size.width() - 4, plot.top() + 2), QPointF(x + 4, plot.top() + 2),
            QPointF(x + 4, plot.bottom() - size.height() - 2)}) {
        const QRectF rect(corner, size);
        if (!placer.isFree(rect)) continue;
        placer.avoid(rect);
        if (corner.x() > x && limit == recommended_) painter.fillRect(rect, theme().plot);
        paintLabel(painter, rect, form);
        return;
      }
    }
  };
  const QString unit = memoryUnitName(unit_);
  const auto sized = [&](double limit) {
    return QStringLiteral("%1 %2").arg(text(formatDecimals(limit, unit_ >= double(kGiB) ? 2 : 0)),
                                       unit);
  };
  if (limitsInScale_) {
    if (safe_ > 0 && safe_ < recommended_) {
      nameLimit(safe_, {tr("limit %1").arg(sized(safe_)), tr("limit")});
    }
    nameLimit(recommended_, {tr("recommended %1").arg(sized(recommended_)), tr("recommended")});
  } else if (recommended_ > 0) {
    const QString far = tr("recommended %1, beyond the scale").arg(bytesText(recommended_ * unit_));
    const QSizeF size = boxOf(small, far);
    const QRectF rect(QPointF(plot.right() - size.width() - 2, plot.bottom() - size.height() - 2),
                      size);
    if (placer.isFree(rect)) {
      placer.avoid(rect);
      paintLabel(painter, rect, far);
    }
  }
  labelAll(false);
}

}  // namespace highwater::views

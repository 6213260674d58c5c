#include "views/tuning/setting_plot.h"

#include <QToolTip>
#include <cmath>

#include "core/units.h"
#include "models/plain_tip.h"
#include "models/qt_text.h"
#include "views/panes/paint.h"
#include "views/tuning/headroom_grid.h"

namespace highwater::views {
namespace {

constexpr double kNear = 10;  ///< pixels from a point's centre
constexpr double kPointRoom = 8;
constexpr double kChosenRoom = 12.5;  ///< the ring around it
/// Plots begin here, unless smaller batches were tried.
constexpr std::uint32_t kFirstBatch = 8;

/// Points of one look. QCustomPlot's own scatter styles know no such point but as a picture, which
/// it puts off its place on a Retina screen.
class PointGraph final : public QCPGraph {
 public:
  PointGraph(QCustomPlot* plot, PointLook look) : QCPGraph(plot->xAxis, plot->yAxis), look_(look) {
    setScatterStyle(QCPScatterStyle::ssDisc);  // that there is one
  }

 protected:
  void drawScatterPlot(QCPPainter* painter, const QVector<QPointF>& scatters,
                       const QCPScatterStyle&) const override {
    for (const QPointF& each : scatters) drawPoint(*painter, look_, each, Theme::of(parentPlot()));
  }

 private:
  PointLook look_;
};

}  // namespace

SettingPlot::SettingPlot(const models::TuningState* state, QWidget* parent)
    : QCustomPlot(parent), state_(state) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  QLocale numbers = QLocale::c();  // as all other numbers of the window
  numbers.setNumberOptions(QLocale::OmitGroupSeparator);
  setLocale(numbers);
  setInteractions(QCP::iNone);
  // The points lie over everything else that is data.
  addLayer(QStringLiteral("points"), layer(QStringLiteral("main")));
  setCurrentLayer(QStringLiteral("points"));
  for (std::size_t i = 0; i < kLooks.size(); ++i) {
    points_[i] = new PointGraph(this, kLooks[i]);  // the plot owns it
    points_[i]->setLineStyle(QCPGraph::lsNone);
    points_[i]->setAdaptiveSampling(false);
    points_[i]->setSelectable(QCP::stNone);
  }
  setCurrentLayer(QStringLiteral("main"));
  for (QCPAxis* axis : {xAxis, yAxis}) {
    axis->grid()->setVisible(false);
    axis->setSubTicks(false);
    axis->setTickLengthIn(0);
    axis->setTickLengthOut(4);
    axis->setTickLabelPadding(4);
    axis->setPadding(0);
  }
  axisRect()->setAutoMargins(QCP::msNone);
  axisRect()->setMinimumSize(1, 1);
  // The margins leave 8 pixels for a point at the edge.
  axisRect()->setMargins(QMargins(54, 18, 14, 38));
  plotLayout()->setMargins({});
  setMinimumSize(160, 120);
  new PaintLayerable(this, QStringLiteral("overlay"), [this](QPainter& painter) {
    if (!hasFocus()) return;
    painter.setPen(QPen(theme().accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(axisRect()->rect().adjusted(-1, -1, 0, 0));
  });
  const auto on = [this](auto signal, Change change) {
    connect(state_, signal, this, [this, change] {
      refreshData(change);
      describe();
    });
  };
  on(&models::TuningState::changed, Change::kModel);
  on(&models::TuningState::reserveChanged, Change::kReserve);
  on(&models::TuningState::chosenChanged, Change::kChosen);
}

void SettingPlot::setMarks(const SettingMarks& marks) {
  if (marks == marks_) return;
  marks_ = marks;
  refreshData(Change::kLook);
}

QCPCurve* SettingPlot::makeCurve(int width, const QList<qreal>& dashes) {
  auto* curve = new QCPCurve(xAxis, yAxis);
  QPen pen(Qt::black, width);
  if (!dashes.isEmpty()) pen.setDashPattern(dashes);
  pen.setCapStyle(Qt::FlatCap);
  curve->setPen(pen);
  curve->setAntialiased(true);
  curve->setSelectable(QCP::stNone);
  curves_.push_back(curve);
  return curve;
}

void SettingPlot::restyle() {
  const Theme& t = theme();
  setBackground(QBrush(t.plot));
  for (QCPAxis* axis : {xAxis, yAxis, xAxis2, yAxis2}) {
    axis->setBasePen(QPen(t.strongLine, 1));
    axis->setTickPen(QPen(t.strongLine, 1));
    axis->setTickLabelColor(t.text2);
    axis->setTickLabelFont(textFont(kSmallText));
    axis->grid()->setPen(QPen(t.grid, 1));
    axis->grid()->setZeroLinePen(QPen(t.grid, 1));
  }
  for (QCPCurve* curve : curves_) {
    QPen pen = curve->pen();
    pen.setColor(t.text1);
    curve->setPen(pen);
  }
}

void SettingPlot::paintYCaption(QPainter& painter, const QString& caption) const {
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme().text2);
  const double width = painter.fontMetrics().horizontalAdvance(caption) + 2;
  const double right = std::max(plotRect().left() - 4.0, width);
  painter.drawText(QRectF(0, 0, right, 16), Qt::AlignRight | Qt::AlignVCenter, caption);
}

void SettingPlot::paintXCaption(QPainter& painter, const QStringList& forms) const {
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme().text2);
  const double right = plotRect().right() + 1;
  painter.drawText(QRectF(0, height() - 18, right, 16), Qt::AlignRight | Qt::AlignVCenter,
                   fitText(painter, forms, right));
}

void SettingPlot::useOctaves(QCPAxis* axis) {
  axis->setScaleType(QCPAxis::stLogarithmic);
  auto ticker = QSharedPointer<QCPAxisTickerLog>::create();
  ticker->setLogBase(2);
  ticker->setSubTickCount(0);
  axis->setTicker(ticker);
  axis->setNumberFormat(QStringLiteral("f"));
  axis->setNumberPrecision(0);
}

void SettingPlot::fitOctaves(QCPAxis* axis, int most) {
  const double octaves = std::log2(axis->range().upper / axis->range().lower);
  // QCPAxisTickerLog leaves out powers as long as there are more than this.
  axis->ticker()->setTickCount(std::clamp(static_cast<int>(octaves) + 1, 1, std::max(most, 1)));
}

std::pair<double, double> SettingPlot::shownBatches(std::uint32_t length) const {
  std::uint32_t smallest = state_->limits().batch, largest = 1;
  for (const models::TriedSetting& each : state_->tried()) {
    smallest = std::min(smallest, each.setting.batch);
    largest = std::max(largest, each.setting.batch);
  }
  const double first = powerBelow(std::min(kFirstBatch, smallest / 2));
  const auto safe = state_->largestSafeBatch(length);
  const double last = powerAbove(std::max(2.0 * largest, 1.2 * safe.value_or(1)));
  return {first, std::min(std::max(last, first * 16), double(state_->limits().batch))};
}

double SettingPlot::memoryUnit(double bytes) {
  return bytes >= double(kGiB) ? double(kGiB) : double(kMiB);
}

QString SettingPlot::memoryUnitName(double unit) {
  return unit >= double(kGiB) ? tr("GiB") : tr("MiB");
}

void SettingPlot::showPoints(PointLook look, const QVector<double>& keys,
                             const QVector<double>& values) {
  for (std::size_t i = 0; i < kLooks.size(); ++i) {
    if (kLooks[i] == look) points_[i]->setData(keys, values);
  }
}

std::optional<tuning::Setting> SettingPlot::pointAt(const QPoint& position) const {
  std::optional<tuning::Setting> nearest;
  double best = kNear;
  for (const SettingPoint& each : pointsOf(*state_, marks_)) {
    const auto place = placeOf(each.setting);
    if (!place) continue;
    const double distance = std::hypot(place->x() - position.x(), place->y() - position.y());
    if (distance <= best) {
      best = distance;
      nearest = each.setting;
    }
  }
  return nearest;
}

void SettingPlot::avoidPoints(LabelPlacer& placer) const {
  for (const SettingPoint& each : pointsOf(*state_, marks_)) {
    if (const auto place = placeOf(each.setting)) {
      const double room = each.setting == state_->chosen() ? kChosenRoom : kPointRoom;
      placer.avoid(QRectF(place->x() - room, place->y() - room, 2 * room, 2 * room));
    }
  }
}

void SettingPlot::paintLabel(QPainter& painter, const QRectF& rect, const QString& text) {
  labels_.emplace_back(rect, text);
  painter.drawText(rect, Qt::AlignCenter, text);
}

QString SettingPlot::tipAt(const QPoint& position) const {
  const auto setting = settingAt(position);
  if (!setting) return {};
  QStringList lines;
  if (state_->model()) lines << text(state_->model()->sentence(*setting));
  for (const models::TriedSetting& each : state_->tried()) {
    if (each.setting != *setting) continue;
    if (each.outOfMemory) lines << tr("Ran out of memory");
    if (each.steps > 0 && std::isfinite(each.tokensPerS)) {
      lines << tr("%1 steps, %2 %3 (half of them %4 to %5)")
                   .arg(each.steps)
                   .arg(text(formatRate(each.tokensPerS)), state_->rateUnit(),
                        text(formatRate(each.lowerQuartile)), text(formatRate(each.upperQuartile)));
    }
  }
  if (marks_.recommended == *setting) lines << tr("Recommended");
  if (marks_.next == *setting) lines << tr("To be measured next");
  return lines.join(QLatin1Char('\n'));
}

tuning::Setting SettingPlot::start() const {
  if (state_->chosen().batch > 0) return state_->chosen();
  if (state_->current().batch > 0) return state_->current();
  return state_->tried().empty() ? tuning::Setting{} : state_->tried().front().setting;
}

/// For screen readers: the chosen setting and what it would take.
void SettingPlot::describe() {
  const tuning::Setting chosen = state_->chosen();
  setAccessibleDescription(
      chosen.batch > 0 && state_->model() ? text(state_->model()->sentence(chosen)) : QString());
}

void SettingPlot::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->button() == Qt::LeftButton ? settingAt(event->pos()) : std::nullopt;
  event->accept();
}

void SettingPlot::mouseReleaseEvent(QMouseEvent* event) {
  const auto released = settingAt(event->pos());
  if (event->button() == Qt::LeftButton && released && released == pressed_) {
    emit settingChosen(*released);
  }
  pressed_.reset();
  event->accept();
}

void SettingPlot::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto setting = settingAt(event->pos());
  if (event->button() == Qt::LeftButton && setting) emit applyRequested(*setting);
  event->accept();
}

void SettingPlot::mouseMoveEvent(QMouseEvent* event) {
  const auto setting = settingAt(event->pos());
  hovered(setting);
  setCursor(setting ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void SettingPlot::leaveEvent(QEvent* event) {
  hovered(std::nullopt);
  QCustomPlot::leaveEvent(event);
}

void SettingPlot::keyPressEvent(QKeyEvent* event) {
  const bool plain = !(event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier));
  switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (plain && start().batch > 0) {
        const bool far = event->modifiers().testFlag(Qt::ShiftModifier);
        if (const auto next = neighbour(start(), event->key(), far)) emit settingChosen(*next);
        event->accept();
        return;
      }
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (plain && state_->chosen().batch > 0) {
        emit applyRequested(state_->chosen());
        event->accept();
        return;
      }
      break;
    default:
      break;
  }
  event->ignore();
}

void SettingPlot::changeEvent(QEvent* event) {
  QCustomPlot::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) {
    restyle();
    refreshData(Change::kLook);
  }
}

void SettingPlot::focusInEvent(QFocusEvent* event) {
  QCustomPlot::focusInEvent(event);
  scheduleReplot();
}

void SettingPlot::focusOutEvent(QFocusEvent* event) {
  QCustomPlot::focusOutEvent(event);
  scheduleReplot();
}

bool SettingPlot::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString tip = tipAt(help->pos());
    tip.isEmpty() ? QToolTip::hideText()
                  : QToolTip::showText(help->globalPos(), models::plainTip(tip), this);
    return true;
  }
  return QCustomPlot::event(event);
}

}  // namespace highwater::views

#include "views/tuning/tuning_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/qt_text.h"
#include "views/panes/paint.h"

namespace highwater::views {
namespace {

constexpr int kSliceMs = 5;
constexpr int kMostCells = 4000;
constexpr int kSafeShades = 6;
constexpr int kReserveLevel = kSafeShades + 1;
constexpr int kLevels = kSafeShades + 5;  ///< with the unknown one and four bands
/// The map begins here, unless shorter lengths were tried.
constexpr std::uint32_t kFirstLength = 32;
constexpr double kMostOctaves = 8;
constexpr double kTagHeight = 16, kTagPadding = 5;

QColor mixed(const QColor& ground, const QColor& color, double share) {
  const auto part = [share](int from, int to) {
    return static_cast<int>(std::lround(from + (to - from) * share));
  };
  return {part(ground.red(), color.red()), part(ground.green(), color.green()),
          part(ground.blue(), color.blue())};
}

/// The colour of a level of the colour map's scale: see TuningMap::levelOf().
QColor levelColor(int level, const Theme& theme) {
  const QColor ground = theme.isDark ? theme.plot : QColor(Qt::white);
  if (level == 0) return theme.plot;
  if (level <= kSafeShades) {
    return mixed(ground, theme.blue, 0.2 + 0.65 * (level - 1) / (kSafeShades - 1));
  }
  switch (level - kReserveLevel) {
    case 0:
      return mixed(ground, theme.sky, 0.62);
    case 1:
      return mixed(ground, theme.orange, 0.42);
    case 2:
      return mixed(ground, theme.orange, 0.8);
    default:
      return mixed(ground, theme.vermillion, 0.55);
  }
}

}  // namespace

TuningMap::TuningMap(const models::TuningState* state, QWidget* parent)
    : SettingPlot(state, parent), map_(new QCPColorMap(xAxis, yAxis)) {
  setObjectName(QStringLiteral("tuningMap"));
  setAccessibleName(tr("Map of batch size and sequence length, by predicted driver memory"));
  map_->setInterpolate(false);
  map_->setSelectable(QCP::stNone);
  map_->setAntialiased(false);
  map_->setDataRange(QCPRange(0, kLevels - 1));
  new PaintLayerable(this, QStringLiteral("main"), [this](QPainter& p) { paintHatches(p); });
  recommended_ = makeCurve(1);
  low_ = makeCurve(1, {6, 3});
  high_ = makeCurve(1, {2, 3});
  safeGround_ = makeCurve(4);
  safe_ = makeCurve(2);
  for (QCPAxis* axis : {xAxis, yAxis}) useOctaves(axis);
  new PaintLayerable(this, QStringLiteral("axes"), [this](QPainter& p) { paintCaptions(p); });
  new PaintLayerable(this, QStringLiteral("legend"), [this](QPainter& p) { paintTags(p); });
  // The hovered cell is drawn alone, without the rest of the map.
  addLayer(QStringLiteral("hover"));
  layer(QStringLiteral("hover"))->setMode(QCPLayer::lmBuffered);
  new PaintLayerable(this, QStringLiteral("hover"), [this](QPainter& p) {
    if (!hovered_ || pointAt(mapFromGlobal(QCursor::pos()))) return;
    p.setBrush(Qt::NoBrush);
    p.setPen(QPen(theme().text1, 1));
    p.drawRect(
        cellRect(grid_.batches().cellAt(hovered_->batch), grid_.lengths().cellAt(hovered_->length))
            .adjusted(-0.5, -0.5, 0.5, 0.5));
  });
  slice_.setSingleShot(true);
  slice_.setInterval(1);
  connect(&slice_, &QTimer::timeout, this, &TuningMap::computeSome);
  TuningMap::restyle();
  TuningMap::refreshData(Change::kModel);
}

QColor TuningMap::bandColor(HeadroomBand band, const Theme& theme) {
  switch (band) {
    case HeadroomBand::kUnknown:
      return levelColor(0, theme);
    case HeadroomBand::kSafe:
      return levelColor(kSafeShades / 2 + 1, theme);
    case HeadroomBand::kReserve:
    case HeadroomBand::kAboveRecommended:
    case HeadroomBand::kAboveLowWatermark:
    case HeadroomBand::kAboveHighWatermark:
      break;
  }
  return levelColor(
      kReserveLevel + static_cast<int>(band) - static_cast<int>(HeadroomBand::kReserve), theme);
}

QBrush TuningMap::bandHatch(HeadroomBand band, const Theme& theme) {
  QColor line = theme.isDark ? theme.plot : theme.text1;
  switch (band) {
    case HeadroomBand::kReserve:
      line.setAlphaF(theme.isDark ? 0.55F : 0.4F);
      return dotBrush(line, 4);
    case HeadroomBand::kAboveRecommended:
      line.setAlphaF(theme.isDark ? 0.55F : 0.35F);
      return hatchBrush(line, Qt::transparent, 6);
    case HeadroomBand::kAboveHighWatermark:
      line.setAlphaF(theme.isDark ? 0.75F : 0.5F);
      return hatchBrush(line, Qt::transparent, 6, true);
    default:
      return Qt::NoBrush;
  }
}

void TuningMap::restyle() {
  SettingPlot::restyle();
  QCPColorGradient gradient;
  gradient.clearColorStops();
  gradient.setLevelCount(kLevels);
  for (int level = 0; level < kLevels; ++level) {
    gradient.setColorStopAt(level / double(kLevels - 1), levelColor(level, theme()));
  }
  map_->setGradient(gradient);
  QPen ground = safeGround_->pen();
  ground.setColor(theme().isDark ? theme().plot : QColor(Qt::white));
  safeGround_->setPen(ground);
}

/// The map shows what was tried and the largest safe batches.
void TuningMap::fitGrid() {
  const tuning::Setting limits = state_->limits();
  std::uint32_t shortest = limits.length, longest = 1;
  for (const models::TriedSetting& each : state_->tried()) {
    shortest = std::min(shortest, each.setting.length);
    longest = std::max(longest, each.setting.length);
  }
  const double firstLength = powerBelow(std::min(kFirstLength, shortest / 2));
  const auto [first, last] = shownBatches(static_cast<std::uint32_t>(firstLength));
  const double lastLength = std::min<double>(
      limits.length, std::max(firstLength * std::exp2(kMostOctaves), 2.0 * longest));
  const auto make = [&, first = first, last = last](int perOctave) {
    return std::pair(GridAxis::spanning(first, last, perOctave),
                     GridAxis::spanning(firstLength, lastLength, perOctave));
  };
  auto [batches, lengths] = make(8);
  if (batches.cells * lengths.cells > kMostCells) std::tie(batches, lengths) = make(4);
  if (batches == grid_.batches() && lengths == grid_.lengths() &&
      limits.batch == grid_.mostBatch()) {
    grid_.outdate();
    return;
  }
  grid_ = HeadroomGrid(batches, lengths, limits.batch);
  map_->data()->setSize(grid_.columns(), grid_.rows());
  map_->data()->setRange(QCPRange(batches.at(0), batches.at(batches.cells - 1)),
                         QCPRange(lengths.at(0), lengths.at(lengths.cells - 1)));
  xAxis->setRange(batches.at(-0.5), batches.at(batches.cells - 0.5));
  yAxis->setRange(lengths.at(-0.5), lengths.at(lengths.cells - 0.5));
  fitTicks();
}

void TuningMap::fitTicks() {
  fitOctaves(xAxis, plotRect().width() / 40);
  fitOctaves(yAxis, plotRect().height() / 22);
}

void TuningMap::refreshData(Change change) {
  if (!state_->model()) {
    slice_.stop();
    grid_ = HeadroomGrid();
    scheduleReplot();
    return;
  }
  if (change == Change::kChosen || change == Change::kLook) {
    showPointsAndChoice();
    scheduleReplot();
    return;
  }
  if (change == Change::kModel || grid_.columns() * grid_.rows() <= 1) fitGrid();
  if (change == Change::kReserve) grid_.outdateSafe();
  if (!grid_.complete() && isVisible()) slice_.start();
  showGrid();
}

void TuningMap::computeSome() {
  if (!state_->model() || !isVisible()) return;
  if (grid_.advance(*state_->model(), state_->reserve(), kSliceMs)) slice_.start();
  showGrid();
}

void TuningMap::finish() {
  slice_.stop();
  if (!state_->model()) return;
  while (grid_.advance(*state_->model(), state_->reserve(), 1000)) {
  }
  showGrid();
  replot();
}

int TuningMap::levelOf(int column, int row) const {
  const tuning::MemoryModel& model = *state_->model();
  const HeadroomBand band = grid_.band(column, row, model, state_->reserve());
  switch (band) {
    case HeadroomBand::kUnknown:
      return 0;
    case HeadroomBand::kSafe: {
      const auto safe = static_cast<double>(model.safeBytes(state_->reserve()));
      const double full = safe > 0 ? grid_.bytes(column, row) / safe : 0;
      return 1 + std::clamp(static_cast<int>(full * kSafeShades), 0, kSafeShades - 1);
    }
    default:
      return kReserveLevel + static_cast<int>(band) - static_cast<int>(HeadroomBand::kReserve);
  }
}

QColor TuningMap::colorOf(int column, int row) const {
  return levelColor(levelOf(column, row), theme());
}

void TuningMap::showGrid() {
  for (int row = 0; row < grid_.rows(); ++row) {
    for (int column = 0; column < grid_.columns(); ++column) {
      map_->data()->setCell(column, row, levelOf(column, row));
    }
  }
  const MemoryLimits& limits = state_->model()->limits();
  const auto recommended = static_cast<double>(limits.recommendedBytes);
  const auto showContour = [this](QCPCurve* curve, double bytes) {
    QVector<double> keys, values;
    for (int row = 0; row < grid_.rows() && bytes > 0; ++row) {
      const auto batch = grid_.crossing(row, bytes);
      keys << (batch ? *batch : std::numeric_limits<double>::quiet_NaN());
      values << grid_.lengths().at(row);
    }
    curve->setData(keys, values);
  };
  showContour(recommended_, recommended);
  showContour(low_, recommended * limits.lowWatermarkRatio);
  showContour(high_, recommended * limits.highWatermarkRatio);
  QVector<double> keys, values;
  for (int row = 0; row < grid_.rows(); ++row) {
    const auto batch = grid_.largestSafe(row);
    keys << (batch && *batch <= xAxis->range().upper ? double(*batch)
                                                     : std::numeric_limits<double>::quiet_NaN());
    values << grid_.lengths().at(row);
  }
  safeGround_->setData(keys, values);
  safe_->setData(keys, values);
  showPointsAndChoice();
  scheduleReplot();
}

void TuningMap::showPointsAndChoice() {
  for (const PointLook look : kLooks) {
    QVector<double> keys, values;
    for (const SettingPoint& each : pointsOf(*state_, marks())) {
      if (each.look == look && placeOf(each.setting)) {
        keys << each.setting.batch;
        values << each.setting.length;
      }
    }
    if (look == PointLook::kChosen && placeOf(state_->chosen())) {
      keys << state_->chosen().batch;
      values << state_->chosen().length;
    }
    showPoints(look, keys, values);
  }
}

std::optional<tuning::Setting> TuningMap::settingAt(const QPoint& position) const {
  if (!state_->model()) return std::nullopt;
  if (const auto point = pointAt(position)) return point;
  if (!plotRect().contains(position)) return std::nullopt;
  const int column = std::clamp(grid_.batches().cellAt(xAxis->pixelToCoord(position.x() + 0.5)), 0,
                                grid_.columns() - 1);
  const int row = std::clamp(grid_.lengths().cellAt(yAxis->pixelToCoord(position.y() + 0.5)), 0,
                             grid_.rows() - 1);
  return grid_.settingOf(column, row);
}

std::optional<QPointF> TuningMap::placeOf(tuning::Setting setting) const {
  if (!state_->model() || !xAxis->range().contains(setting.batch) ||
      !yAxis->range().contains(setting.length)) {
    return std::nullopt;
  }
  return QPointF(xAxis->coordToPixel(setting.batch), yAxis->coordToPixel(setting.length));
}

QRectF TuningMap::cellRect(int column, int row) const {
  const double left = xAxis->coordToPixel(grid_.batches().at(column - 0.5));
  const double right = xAxis->coordToPixel(grid_.batches().at(column + 0.5));
  const double bottom = yAxis->coordToPixel(grid_.lengths().at(row - 0.5));
  const double top = yAxis->coordToPixel(grid_.lengths().at(row + 0.5));
  return {left, top, right - left, bottom - top};
}

std::optional<tuning::Setting> TuningMap::neighbour(tuning::Setting from, int key, bool far) const {
  if (!state_->model()) return std::nullopt;
  const bool sideways = key == Qt::Key_Left || key == Qt::Key_Right;
  const int direction = key == Qt::Key_Right || key == Qt::Key_Up ? 1 : -1;
  const GridAxis& axis = sideways ? grid_.batches() : grid_.lengths();
  std::uint32_t& value = sideways ? from.batch : from.length;
  const std::uint32_t before = value;
  // Small settings share cells: on to the next one that differs.
  for (int cell = axis.cellAt(before) + direction * (far ? axis.cellsPerOctave : 1);
       cell >= 0 && cell < axis.cells; cell += direction) {
    const tuning::Setting there = sideways ? grid_.settingOf(cell, 0) : grid_.settingOf(0, cell);
    value = sideways ? there.batch : there.length;
    if ((direction > 0) == (value > before) && value != before) return from;
  }
  return std::nullopt;
}

void TuningMap::hovered(const std::optional<tuning::Setting>& setting) {
  if (setting == hovered_) return;
  hovered_ = setting;
  layer(QStringLiteral("hover"))->replot();
}

void TuningMap::showEvent(QShowEvent* event) {
  SettingPlot::showEvent(event);
  if (state_->model() && !grid_.complete()) slice_.start();
}

void TuningMap::resizeEvent(QResizeEvent* event) {
  QCustomPlot::resizeEvent(event);
  fitTicks();
}

void TuningMap::paintHatches(QPainter& painter) const {
  if (!state_->model()) return;
  painter.setPen(Qt::NoPen);
  for (int row = 0; row < grid_.rows(); ++row) {
    for (int first = 0; first < grid_.columns();) {
      const auto bandAt = [&](int column) {
        return grid_.band(column, row, *state_->model(), state_->reserve());
      };
      const HeadroomBand band = bandAt(first);
      int end = first + 1;
      while (end < grid_.columns() && bandAt(end) == band) ++end;
      const QBrush hatch = bandHatch(band, theme());
      if (hatch.style() != Qt::NoBrush) {
        painter.fillRect(cellRect(first, row).united(cellRect(end - 1, row)), hatch);
      }
      first = end;
    }
  }
}

void TuningMap::paintCaptions(QPainter& painter) {
  if (!state_->model()) return;
  paintYCaption(painter, tr("length"));
  paintXCaption(painter, {tr("batch size")});
}

/// The largest safe batch as a number on its line, at a few lengths.
void TuningMap::paintTags(QPainter& painter) {
  forgetLabels();
  if (!state_->model()) return;
  painter.setFont(textFont(kSmallText, true));
  const QFontMetricsF metrics(painter.font());
  LabelPlacer placer(plotRect());
  avoidPoints(placer);
  const int every = grid_.lengths().cellsPerOctave;
  for (int row = 0; row < grid_.rows(); row += every) {
    const auto batch = grid_.largestSafe(row);
    if (!batch || *batch > xAxis->range().upper) continue;
    const QString text = QString::number(*batch);
    const QSizeF size(metrics.horizontalAdvance(text) + 2 * kTagPadding, kTagHeight);
    const QPointF at(xAxis->coordToPixel(*batch), yAxis->coordToPixel(grid_.lengths().at(row)));
    // On the line, or a little above or below on it, where a point is in the way.
    QRectF rect(at - QPointF(size.width() / 2, size.height() / 2), size);
    if (!placer.isFree(rect)) {
      const auto beside = placer.place(at, size, 10);
      if (!beside) continue;
      rect = *beside;
    } else {
      placer.avoid(rect);
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme().isDark ? theme().plot : QColor(Qt::white));
    painter.drawRoundedRect(rect, 3, 3);
    painter.setPen(theme().text1);
    paintLabel(painter, rect, text);
  }
}

}  // namespace highwater::views

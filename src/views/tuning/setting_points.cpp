#include "views/tuning/setting_points.h"

#include <algorithm>
#include <cmath>

#include "views/panes/paint.h"

namespace highwater::views {
namespace {

constexpr double kDisc = 4, kRing = 7.5, kBox = 7.5, kChosenRing = 10.5;

void disc(QPainter& painter, QPointF centre, const QColor& fill, const QColor& outline) {
  painter.setPen(QPen(outline, 1.5));
  painter.setBrush(fill);
  painter.drawEllipse(centre, kDisc + 0.75, kDisc + 0.75);
}

/// A circle with a wider one of the ground's colour under it, so that it is seen on any colour.
void circle(QPainter& painter, QPointF centre, double radius, const QColor& color, double width,
            const QColor& ground) {
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(ground, width + 2));
  painter.drawEllipse(centre, radius, radius);
  painter.setPen(QPen(color, width));
  painter.drawEllipse(centre, radius, radius);
}

int rankOf(PointLook look) {
  switch (look) {
    case PointLook::kNotCompared:
      return 0;
    case PointLook::kMeasured:
      return 1;
    case PointLook::kNext:
      return 2;
    case PointLook::kOutOfMemory:
      return 3;
    case PointLook::kMeasuring:
      return 4;
    case PointLook::kRecommended:
      return 5;
    case PointLook::kChosen:
      break;
  }
  return 6;
}

}  // namespace

PointLook lookOf(const models::TriedSetting& tried, const SettingMarks& marks) {
  if (marks.measuring == tried.setting) return PointLook::kMeasuring;
  if (marks.recommended == tried.setting) return PointLook::kRecommended;
  if (tried.outOfMemory) return PointLook::kOutOfMemory;
  if (tried.fewSteps) return PointLook::kNotCompared;
  return PointLook::kMeasured;
}

std::vector<SettingPoint> pointsOf(const models::TuningState& state, const SettingMarks& marks) {
  std::vector<SettingPoint> points;
  for (const models::TriedSetting& each : state.tried()) {
    points.push_back({each.setting, lookOf(each, marks)});
  }
  const auto add = [&](const std::optional<tuning::Setting>& setting, PointLook look) {
    if (!setting || setting->batch == 0) return;
    const bool known = std::any_of(points.begin(), points.end(), [&](const SettingPoint& each) {
      return each.setting == *setting;
    });
    if (!known) points.push_back({*setting, look});
  };
  add(marks.measuring, PointLook::kMeasuring);
  add(marks.recommended, PointLook::kRecommended);
  add(marks.next, PointLook::kNext);
  std::stable_sort(points.begin(), points.end(), [](const SettingPoint& a, const SettingPoint& b) {
    return rankOf(a.look) < rankOf(b.look);
  });
  return points;
}

void drawPoint(QPainter& painter, PointLook look, QPointF centre, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const QColor ink = theme.isDark ? QColor(Qt::white) : theme.text1;
  const QColor ground = theme.isDark ? theme.plot : QColor(Qt::white);
  switch (look) {
    case PointLook::kMeasured:
      disc(painter, centre, ink, ground);
      break;
    case PointLook::kMeasuring: {
      const QRectF box(centre.x() - kBox, centre.y() - kBox, 2 * kBox, 2 * kBox);
      painter.fillRect(box, ground);
      QPen pen(ink, 1.2);
      pen.setDashPattern({2.5, 2});
      painter.setPen(pen);
      painter.drawRect(box);
      disc(painter, centre, ink, ground);
      break;
    }
    case PointLook::kNext:
      painter.setPen(QPen(ground, 4));
      painter.setBrush(ground);
      painter.drawEllipse(centre, kDisc, kDisc);
      painter.setPen(QPen(ink, 1.5));
      painter.drawEllipse(centre, kDisc, kDisc);
      break;
    case PointLook::kRecommended:
      circle(painter, centre, kRing, ink, 1.6, ground);
      disc(painter, centre, ink, ground);
      break;
    case PointLook::kOutOfMemory:
      painter.setPen(Qt::NoPen);
      painter.setBrush(ground);
      painter.drawEllipse(centre, 7.5, 7.5);
      drawGlyph(painter, Glyph::kOctagon, centre, theme.vermillion, ground);
      break;
    case PointLook::kNotCompared:
      painter.setPen(QPen(theme.text3, 1.2));
      painter.setBrush(theme.plot);
      painter.drawEllipse(centre, kDisc - 0.5, kDisc - 0.5);
      break;
    case PointLook::kChosen:
      circle(painter, centre, kChosenRing, theme.accent, 2, ground);
      break;
  }
  painter.restore();
}

bool LabelPlacer::isFree(const QRectF& rect) const {
  return area_.contains(rect) &&
         std::none_of(taken_.begin(), taken_.end(),
                      [&](const QRectF& each) { return each.intersects(rect); });
}

std::optional<QRectF> LabelPlacer::place(QPointF beside, QSizeF size, double gap) {
  const double w = size.width(), h = size.height(), x = beside.x(), y = beside.y();
  // Half the gap in the other direction, as the corner of a label may come nearer than its side.
  const QPointF places[] = {{x + gap * 0.7, y + gap * 0.4},
                            {x + gap, y - h / 2},
                            {x - w - gap * 0.7, y - h - gap * 0.4},
                            {x + gap * 0.7, y - h - gap * 0.4},
                            {x - w - gap, y - h / 2},
                            {x - w - gap * 0.7, y + gap * 0.4},
                            {x - w / 2, y + gap},
                            {x - w / 2, y - h - gap}};
  for (const QPointF& corner : places) {
    const QRectF rect(corner, size);
    if (isFree(rect)) {
      taken_.push_back(rect);
      return rect;
    }
  }
  return std::nullopt;
}

QString shortText(tuning::Setting setting) {
  return setting.length > 1 ? QStringLiteral("%1 × %2").arg(setting.batch).arg(setting.length)
                            : QString::number(setting.batch);
}

}  // namespace highwater::views

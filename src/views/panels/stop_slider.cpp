#include "views/panels/stop_slider.h"

#include <QPainter>
#include <QStyle>
#include <QWheelEvent>
#include <cmath>

#include "views/panes/paint.h"
#include "views/panes/wheel_gesture.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

constexpr double kHalfHandle = 6;
constexpr double kRadius = 5.5;

}  // namespace

double StopSlider::pixelOf(int stop) const {
  const int stops = maximum() - minimum();
  const double length = width() - 2 * kHalfHandle - 1;
  return kHalfHandle + (stops > 0 ? length * (stop - minimum()) / stops : 0);
}

void StopSlider::setInUse(std::optional<int> stop) {
  if (stop == inUse_) return;
  inUse_ = stop;
  style()->unpolish(this);
  style()->polish(this);
  update();
}

void StopSlider::setSafeUpTo(std::optional<int> stop) {
  if (stop == safeUpTo_) return;
  safeUpTo_ = stop;
  update();
}

void StopSlider::paintEvent(QPaintEvent* event) {
  const Theme& theme = Theme::of(this);
  QPainter painter(this);
  const int stops = maximum() - minimum();
  const int each = stops > 16 ? 4 : 1;
  for (int i = 0; stops > 0 && i <= stops; i += each) {
    painter.fillRect(QRectF(std::round(pixelOf(minimum() + i)), height() - 5, 1, 3),
                     theme.strongLine);
  }
  painter.end();
  QSlider::paintEvent(event);
  if (safeUpTo_ && *safeUpTo_ < maximum()) {
    painter.begin(this);
    const double from = pixelOf(*safeUpTo_) + (*safeUpTo_ < minimum() ? 0 : kHalfHandle);
    // The handle stays in sight.
    QRegion clip(rect());
    const QRectF handle(pixelOf(value()) - kHalfHandle, 0, 2 * kHalfHandle + 1, height());
    painter.setClipRegion(clip - handle.toAlignedRect());
    painter.fillRect(QRectF(from, height() / 2.0 - 3, width() - kHalfHandle - from, 6),
                     hatchBrush(theme.vermillion, theme.track, 4));
    painter.end();
  }
  if (!inUse_) return;
  painter.begin(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.text2);
  painter.drawEllipse(QPointF(pixelOf(*inUse_) + 0.5, height() / 2.0), kRadius, kRadius);
}

void StopSlider::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  turned_ += delta.y() != 0 ? delta.y() : -delta.x();
  const int notches = turned_ / kWheelNotch;
  turned_ -= notches * kWheelNotch;
  if (notches != 0) setValue(value() + notches);
  event->accept();
}

}  // namespace highwater::views

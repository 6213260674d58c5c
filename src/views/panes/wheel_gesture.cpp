#include "views/panes/wheel_gesture.h"

#include <algorithm>
#include <cmath>

namespace highwater::views {
namespace {

constexpr double kZoomOfNotch = 0.8;  ///< of the visible length
constexpr double kPanOfNotch = 0.1;   ///< of the plot's width
/// Pixels of two fingers that zoom as much as one notch of a wheel.
constexpr double kNotchPixels = 60;
constexpr double kMostPinch = 4;  ///< zoom of one event

}  // namespace

double WheelGesture::pinch(double value) {
  direction_ = Direction::kPinched;
  // One event is never half of a pinch; a value of -1 would be an infinite range.
  return 1 / std::clamp(1 + value, 1 / kMostPinch, kMostPinch);
}

WheelStep WheelGesture::take(const QWheelEvent& event, int plotWidth) {
  const bool touch = !event.pixelDelta().isNull();
  const QPointF delta = touch ? QPointF(event.pixelDelta()) : QPointF(event.angleDelta());
  if (event.phase() == Qt::NoScrollPhase || event.phase() == Qt::ScrollBegin) {
    direction_ = Direction::kOpen;
  }
  if (delta.isNull() || direction_ == Direction::kPinched) {
    return {};
  }
  if (direction_ == Direction::kOpen) {
    // Shift turns the wheel of some systems sideways.
    sideways_ = std::abs(delta.x()) > std::abs(delta.y());
    const bool zooms = event.modifiers() & (Qt::ControlModifier | Qt::MetaModifier);
    const bool pans = sideways_ || event.modifiers().testFlag(Qt::ShiftModifier);
    direction_ = pans && !zooms ? Direction::kPan : Direction::kZoom;
  }
  const double along = sideways_ ? delta.x() : delta.y();
  if (direction_ == Direction::kPan) {
    return {touch ? along : along / kWheelNotch * kPanOfNotch * plotWidth, 1};
  }
  if (event.phase() == Qt::ScrollMomentum) {
    return {};
  }
  return {0, std::pow(kZoomOfNotch, along / (touch ? kNotchPixels : kWheelNotch))};
}

}  // namespace highwater::views

#pragma once

#include <QWheelEvent>

namespace highwater::views {

/// One notch of a wheel, as QWheelEvent::angleDelta() counts it: eighths of a degree.
inline constexpr int kWheelNotch = 120;

/// What one wheel event asks for: content moved to the right by `pixels`, and the visible length
/// multiplied by `zoom`.
struct WheelStep {
  double pixels = 0;
  double zoom = 1;
};

/// Tells panning from zooming in the events of a wheel or a trackpad: up and down zooms, sideways
/// or with Shift pans, and with Ctrl everything zooms.
///
/// A trackpad reports phases. Two fingers never move along one axis alone, so the gesture keeps
/// the direction in which it began. The momentum that follows the fingers pans on, but zooms no
/// further: the picture stays at the zoom at which the fingers left it. Nor does it
/// move anything after a pinch.
class WheelGesture {
 public:
  /// Takes the next event of a pane whose plot is `plotWidth` pixels wide.
  [[nodiscard]] WheelStep take(const QWheelEvent& event, int plotWidth);
  /// Takes a step of a pinch, whose QNativeGestureEvent::value() is `value`; returns what it zooms.
  /// What the fingers roll on afterwards is ignored until they touch the trackpad again.
  [[nodiscard]] double pinch(double value);

 private:
  enum class Direction { kOpen, kPan, kZoom, kPinched };
  Direction direction_ = Direction::kOpen;  ///< of the trackpad's current gesture
  bool sideways_ = false;                   ///< the axis along which it moves
};

}  // namespace highwater::views

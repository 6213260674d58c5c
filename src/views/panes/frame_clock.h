#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

namespace highwater::views {

/// Decides when the panes of a window are redrawn: at the rate of its display, all in one frame,
/// and only after request(). The first request after a pause is served at once; later ones wait
/// until the display can show the next frame. So neither a burst of events nor a fast mouse costs
/// more than one redraw a frame.
class FrameClock final : public QObject {
  Q_OBJECT

 public:
  explicit FrameClock(QObject* parent = nullptr);

  /// Asks for a frame. Many requests before it share it.
  void request();
  /// Sets the rate of the display in frames a second, as by QScreen::refreshRate(). Rates that no
  /// display has are ignored. The rate is 60 before.
  void setRate(double framesPerS);
  /// The shortest time between two frames, in ms.
  [[nodiscard]] int intervalMs() const { return intervalMs_; }

 signals:
  /// A frame is about to be drawn: what it needs is brought up to date now.
  void preparing();
  /// Whoever has something to redraw does it now.
  void frame();

 private:
  QTimer timer_;
  QElapsedTimer sinceFrame_;
  int intervalMs_;
};

}  // namespace highwater::views

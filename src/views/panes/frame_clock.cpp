#include "views/panes/frame_clock.h"

#include <algorithm>

namespace highwater::views {
namespace {

constexpr double kUsualRate = 60;
/// What a screen may report; offscreen platforms report 0.
constexpr double kSlowest = 20, kFastest = 240;

int intervalFor(double framesPerS) {
  return static_cast<int>(1000 / framesPerS);
}

}  // namespace

FrameClock::FrameClock(QObject* parent) : QObject(parent), intervalMs_(intervalFor(kUsualRate)) {
  timer_.setSingleShot(true);
  timer_.setTimerType(Qt::PreciseTimer);
  connect(&timer_, &QTimer::timeout, this, [this] {
    sinceFrame_.start();
    emit preparing();
    timer_.stop();  // what was asked for meanwhile is part of this frame
    emit frame();
  });
}

void FrameClock::request() {
  if (timer_.isActive()) {
    return;
  }
  const qint64 passed = sinceFrame_.isValid() ? sinceFrame_.elapsed() : intervalMs_;
  timer_.start(static_cast<int>(std::clamp<qint64>(intervalMs_ - passed, 0, intervalMs_)));
}

void FrameClock::setRate(double framesPerS) {
  if (framesPerS >= kSlowest && framesPerS <= kFastest) {
    intervalMs_ = intervalFor(framesPerS);
  }
}

}  // namespace highwater::views

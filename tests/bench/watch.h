#pragma once

#include <QApplication>
#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>

namespace highwater::bench {

/// Milliseconds since `timer` was started.
inline double sinceMs(const QElapsedTimer& timer) {
  return static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

/// Serves events until `done`; false after `limitMs`.
template <typename F>
bool waitUntil(F&& done, int limitMs) {
  QElapsedTimer limit;
  limit.start();
  while (!done()) {
    if (limit.hasExpired(limitMs)) {
      return false;
    }
    QApplication::processEvents(QEventLoop::WaitForMoreEvents, 5);
  }
  return true;
}

/// The longest time in which the thread of the window served no event: what its user feels as a
/// jerk.
class StillWatch final : public QObject {
 public:
  StillWatch() {
    connect(&beat_, &QTimer::timeout, this, [this] {
      if (sinceBeat_.isValid()) {
        longestMs_ = std::max(longestMs_, sinceMs(sinceBeat_));
      }
      sinceBeat_.start();
    });
  }
  void start() {
    longestMs_ = 0;
    sinceBeat_.invalidate();
    beat_.start(0);
  }
  [[nodiscard]] double longestMs() const { return longestMs_; }

 private:
  QTimer beat_;
  QElapsedTimer sinceBeat_;
  double longestMs_ = 0;
};

}  // namespace highwater::bench

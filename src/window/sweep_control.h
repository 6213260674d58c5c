#pragma once

#include <QObject>

namespace highwater::models {
class TuningState;
}

namespace highwater::window {

class CurrentRun;
class WindowDocks;
class WindowActions;

/// Starts and stops the sweep of the run on screen, for the action and the dock of tuning.
class SweepControl final : public QObject {
  Q_OBJECT

 public:
  /// Nothing is owned; everything must outlive this object.
  SweepControl(CurrentRun* run, WindowActions* actions, WindowDocks* docks,
               models::TuningState* tuning, QObject* parent = nullptr);

  /// Shows in the action what it would do now. Call it when the state of the run has changed.
  void update();

 signals:
  /// A sweep was asked for and no run is live: the receiver starts one.
  void runRequested();
  /// The sweep could not begin.
  void problem(const QString& message);
  /// The controls are no longer, or again, the user's.
  void sweepingChanged();

 private:
  void startOrStop();
  void start();
  void showProgress();
  void showSweep();

  CurrentRun* run_;
  WindowActions* actions_;
  WindowDocks* docks_;
  models::TuningState* tuning_;
  bool wanted_ = false;  ///< as soon as the run that was asked for trains
  bool swept_ = false;
};

}  // namespace highwater::window

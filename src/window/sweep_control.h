#pragma once

#include <QObject>
#include <optional>

#include "tuning/tensor_budget.h"

namespace highwater::models {
class TuningState;
}

namespace highwater::run {
class Run;
}  // namespace highwater::run

namespace highwater::window {

class WindowDocks;
class WindowActions;

/// Starts and stops the sweep of the run on screen, for the action and the dock of tuning.
class SweepControl final : public QObject {
  Q_OBJECT

 public:
  /// Nothing is owned; everything must outlive this object.
  SweepControl(run::Run* run, WindowActions* actions, WindowDocks* docks,
               models::TuningState* tuning, QObject* parent = nullptr);

  /// Shows in the action what it would do now. Call it when the state of the run has changed.
  void update();
  /// After a sweep that was stopped, or has recommended nothing, and when the run has ended:
  /// returns to the setting that the user had chosen before. A run that goes on with another one
  /// only offers it, since it may never have been tried.
  void putBackSetting();
  /// Sweeps the user's program that trains, or else starts it, sweeps it, and stops it.
  void sweepScript();

 signals:
  /// A sweep was asked for and no run is live: the receiver starts one.
  void runRequested();
  /// The user's program is to be swept, in the run that is live or in one to come: the receiver
  /// asks the user, and then calls sweepScript().
  void scriptSweepRequested();
  /// The sweep could not begin.
  void problem(const QString& message);
  /// The controls are no longer, or again, the user's.
  void sweepingChanged();

 private:
  void startOrStop();
  void start();
  void showProgress();
  void showSweep();

  run::Run* run_;
  WindowActions* actions_;
  WindowDocks* docks_;
  models::TuningState* tuning_;
  bool wanted_ = false;                   ///< as soon as the run that was asked for trains
  std::optional<tuning::Setting> users_;  ///< the user's own setting, until putBackSetting()
  bool beganElsewhere_ = false;           ///< the run to sweep has begun with another one
  bool stopsScript_ = false;              ///< the program was started for the sweep
  bool swept_ = false;
};

}  // namespace highwater::window

#pragma once

#include <QObject>

#include "core/messages.h"

namespace highwater::models {
class LogModel;
}  // namespace highwater::models

namespace highwater::views {
class Banner;
}  // namespace highwater::views

namespace highwater::run {
class Run;
}  // namespace highwater::run

namespace highwater::window {

/// Shows stalls, problems and the end of the run in the banner, and adds them to the log. Connects
/// itself to the run.
class RunNotices final : public QObject {
  Q_OBJECT

 public:
  RunNotices(views::Banner* banner, models::LogModel* log, run::Run* run,
             QObject* parent = nullptr);

  /// Updates the duration of a stall in the banner; the session reports a stall only once. Does
  /// nothing without a stall, or if the user closed the banner.
  void updateStall();
  /// Says it in the banner when a step has run out of memory and the training goes on.
  void tellRecoveries();
  /// Shows in the banner how a run ended, if that was not planned. Does nothing for a run that
  /// finished or was stopped on request.
  void showEnd(const RunEnd& end);
  /// Shows a problem that does not end the run in the banner, and adds it to the log.
  void showProblem(const QString& message);
  /// Says that another process is still writing the recording on screen.
  void showBeingWritten(const QString& message);
  /// Says that the file of the recording on screen holds another run, and offers to reload it.
  void showReplaced(const QString& message);
  /// Says what a try has found, or how the run on screen continues another one.
  void showNote(const QString& what);
  /// Says that the run is being stopped and that the window closes then, and offers to close it at
  /// once.
  void showClosing();

 signals:
  /// The user does not want to wait until the run has stopped.
  void closeNowRequested();
  /// The user pressed the banner's button to start the run again.
  void runAgainRequested();
  /// The user pressed the banner's button to read the recording's file again.
  void reloadRequested();
  /// The user pressed the banner's button to continue the training of the run that has ended.
  void continueRequested();

 private:
  void showStall(const QString& message);
  void hideStall();
  void act();
  [[nodiscard]] QString againText() const;

  views::Banner* banner_;
  models::LogModel* log_;
  run::Run* run_;
  bool closing_ = false;
  QString replacedShown_;        ///< the banner's text that offers to reload, else empty
  QString stallShown_;           ///< the banner's text during a stall, else empty
  std::size_t seenMarkers_ = 0;  ///< those that tellRecoveries() has looked at
};

}  // namespace highwater::window

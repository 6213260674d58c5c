#pragma once

#include <optional>

#include "core/messages.h"
#include "core/result.h"
#include "session/command_text.h"
#include "session/session.h"

namespace highwater::session {

/// The state of a run and its transitions. A transition method returns true if it has changed the
/// state, and false, without effect, if the current state does not allow it.
class RunStateMachine {
 public:
  using State = Session::State;

  [[nodiscard]] State state() const { return state_; }
  /// How the run ended; set only in the state kEnded.
  [[nodiscard]] const std::optional<RunEnd>& end() const { return end_; }

  /// Changes the state from kIdle to kStarting. False if it is another one.
  bool start();
  /// Changes the state from kStarting to kRunning. False if it is another one.
  bool trainingStarted();
  /// Changes the state from kRunning to kPaused. False if it is another one.
  bool paused();
  /// Changes the state from kPaused to kRunning. False if it is another one.
  bool resumed();
  /// Changes the state from kStarting, kRunning or kPaused to kStopping. False if it is another
  /// one.
  bool stopRequested();
  /// Changes the state to kEnded and keeps `end`. False if it is kEnded already.
  bool finish(RunEnd end);

  /// Checks whether a command may be sent to the worker in the current state. Fails with kFailed
  /// and the reason if not.
  [[nodiscard]] Result<void> permits(const CommandAction& action) const;

 private:
  bool move(bool allowed, State next);

  State state_ = State::kIdle;
  std::optional<RunEnd> end_;
};

}  // namespace highwater::session

#pragma once

#include <optional>

#include "core/messages.h"
#include "core/result.h"
#include "session/command_text.h"
#include "session/session.h"

namespace highwater::session {

/// A run's states and what leads from one to the next. Each transition says whether the state
/// allowed it; where it did not, nothing has changed.
class RunStateMachine {
 public:
  using State = Session::State;

  [[nodiscard]] State state() const { return state_; }
  /// Set exactly while the state is Ended.
  [[nodiscard]] const std::optional<RunEnd>& end() const { return end_; }

  bool start();             ///< Idle → Starting
  bool trainingStarted();   ///< Starting → Running
  bool paused();            ///< Running → Paused
  bool resumed();           ///< Paused → Running
  bool stopRequested();     ///< Starting, Running, Paused → Stopping
  bool finish(RunEnd end);  ///< any but Ended → Ended; the first end stays

  /// Whether the state lets this command be sent; the error says why not.
  [[nodiscard]] Result<void> permits(const CommandAction& action) const;

 private:
  bool move(bool allowed, State next);

  State state_ = State::kIdle;
  std::optional<RunEnd> end_;
};

}  // namespace highwater::session

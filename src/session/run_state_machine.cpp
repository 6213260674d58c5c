#include "session/run_state_machine.h"

namespace highwater::session {

bool RunStateMachine::move(bool allowed, State next) {
  if (allowed) state_ = next;
  return allowed;
}

bool RunStateMachine::start() {
  return move(state_ == State::kIdle, State::kStarting);
}

bool RunStateMachine::trainingStarted() {
  return move(state_ == State::kStarting, State::kRunning);
}

bool RunStateMachine::paused() {
  return move(state_ == State::kRunning, State::kPaused);
}

bool RunStateMachine::resumed() {
  return move(state_ == State::kPaused, State::kRunning);
}

bool RunStateMachine::stopRequested() {
  return move(state_ == State::kStarting || state_ == State::kRunning || state_ == State::kPaused,
              State::kStopping);
}

bool RunStateMachine::finish(RunEnd end) {
  if (!move(state_ != State::kEnded, State::kEnded)) return false;
  end_ = std::move(end);
  return true;
}

Result<void> RunStateMachine::permits(const CommandAction& action) const {
  switch (state_) {
    case State::kIdle:
      return failure("the run has not been started");
    case State::kStopping:
      return failure("the run is stopping");
    case State::kEnded:
      return failure("the run has ended");
    case State::kStarting:
      if (std::holds_alternative<StopTraining>(action)) return {};
      return failure("the worker is still starting");
    case State::kRunning:
      if (std::holds_alternative<ResumeTraining>(action)) {
        return failure("the run is not paused");
      }
      break;
    case State::kPaused:
      if (std::holds_alternative<PauseTraining>(action)) {
        return failure("the run is paused already");
      }
      break;
  }
  if (std::holds_alternative<StartTraining>(action)) return failure("the run has begun already");
  return {};
}

}  // namespace highwater::session

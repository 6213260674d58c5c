#include "process/run_control.h"

#include <string>
#include <utility>
#include <variant>

namespace highwater::process {

RunControl::RunControl(Knobs knobs, KnobLimits limits, std::uint32_t plannedSteps,
                       events::ProbeLevel probeLevel)
    : knobs_(knobs), limits_(std::move(limits)), plannedSteps_(plannedSteps), level_(probeLevel) {}

void RunControl::welcome() {
  const std::lock_guard lock(mutex_);
  welcomed_ = true;
  changed_.notify_all();
}

CommandResult RunControl::obey(const Command& command) {
  const std::lock_guard lock(mutex_);
  CommandResult result;
  result.commandId = command.id;
  result.accepted = true;
  const auto* change = std::get_if<SetKnobs>(&command.action);
  const auto* block = std::get_if<TryBlock>(&command.action);
  if (change || block) {
    const Result<std::uint32_t> step = change ? scheduleLocked(*change) : beginBlock(*block);
    result.accepted = step.ok();
    if (step) {
      result.effectiveStep = *step;
    } else {
      result.message = step.error().message;
    }
  } else if (std::holds_alternative<StartTraining>(command.action)) {
    result.accepted = !started_;
    if (started_) result.message = "the run has started already";
    started_ = true;
    result.effectiveStep = currentStep_ + 1;
  } else if (std::holds_alternative<PauseTraining>(command.action)) {
    pauseRequested_ = true;
    result.effectiveStep = currentStep_ + 1;
  } else if (std::holds_alternative<ResumeTraining>(command.action)) {
    pauseRequested_ = false;
    result.effectiveStep = currentStep_ + 1;
  } else if (std::holds_alternative<EmptyCache>(command.action)) {
    emptyCacheRequested_ = true;
    result.effectiveStep = currentStep_ + 1;
  } else if (const auto* level = std::get_if<SetProbeLevel>(&command.action)) {
    const bool known =
        level->level >= events::ProbeLevel::Off && level->level <= events::ProbeLevel::MAX;
    result.accepted = known;
    if (known) {
      setProbeLevel(*level);
      result.effectiveStep = currentStep_ + 1;
    } else {
      result.message = "this worker does not know that probe level";
    }
  } else if (std::holds_alternative<SetScriptKnob>(command.action)) {
    result.accepted = false;
    result.message = "only the user's own script has such a knob";
  } else if (std::holds_alternative<SignalProgram>(command.action)) {
    result.accepted = false;
    result.message = "only the host of a program sends it signals";
  } else {
    stopRequested_ = true;
  }
  changed_.notify_all();
  return result;
}

Result<std::uint32_t> RunControl::beginBlock(const TryBlock& block) {
  const Knob* knob = knobOf(block.knob);
  if (!block.callSites.empty()) {
    return failure("only waits of the user's own script can be left out");
  }
  if (!knob) return usageError("there is no knob \"" + block.knob + '"');
  if (block.part > TryBlock::Part::kOver) return usageError("a try has no such part");
  if (auto fine = checkKnobValue(*knob, block.value, limits_); !fine) return fine.error();
  if (plannedSteps_ > 0 && currentStep_ >= plannedSteps_) {
    return failure("the run has no steps left");
  }
  SetKnobs change;
  knob->request(change, block.value);
  auto step = scheduleLocked(change);
  if (step) nextBlock_ = block.part;
  return step;
}

void RunControl::setProbeLevel(const SetProbeLevel& change) {
  briefSteps_ = change.steps;
  (change.steps > 0 ? briefLevel_ : level_) = change.level;
}

events::ProbeLevel RunControl::levelOfNextStep() {
  wasBrief_ = briefSteps_ > 0;
  if (!wasBrief_) return level_;
  --briefSteps_;
  return briefLevel_;
}

void RunControl::hostGone() {
  const std::lock_guard lock(mutex_);
  hostGone_ = true;
  stopRequested_ = true;
  changed_.notify_all();
}

bool RunControl::isHostGone() const {
  const std::lock_guard lock(mutex_);
  return hostGone_;
}

bool RunControl::waitForWelcome() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return welcomed_ || hostGone_; });
  return !hostGone_;
}

bool RunControl::waitForStart() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return started_ || stopRequested_; });
  return !stopRequested_;
}

NextAction RunControl::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return stopRequested_ || emptyCacheRequested_ || paused_ != pauseRequested_ || !paused_;
  });
  NextAction action;
  action.step = currentStep_ + 1;
  action.knobs = knobs_;
  if (stopRequested_ || (plannedSteps_ > 0 && currentStep_ >= plannedSteps_)) {
    action.kind = NextAction::Kind::kStop;
  } else if (emptyCacheRequested_) {
    emptyCacheRequested_ = false;
    action.kind = NextAction::Kind::kEmptyCache;
  } else if (paused_ != pauseRequested_) {
    paused_ = pauseRequested_;
    action.kind = paused_ ? NextAction::Kind::kPaused : NextAction::Kind::kResumed;
  } else if (nextBlock_) {
    action.kind = NextAction::Kind::kTry;
    action.part = *std::exchange(nextBlock_, std::nullopt);
  } else {
    action.kind = NextAction::Kind::kStep;
    ++currentStep_;
    action.changes = schedule_.apply(currentStep_, knobs_);
    action.knobs = knobs_;
    action.probeLevel = levelOfNextStep();
  }
  return action;
}

Result<void> RunControl::continueFrom(std::uint32_t step) {
  const std::lock_guard lock(mutex_);
  if (plannedSteps_ > 0 && step >= plannedSteps_) {
    return usageError("nothing is left to train: the run goes on after step " +
                      std::to_string(step) + ", and its last step is " +
                      std::to_string(plannedSteps_));
  }
  currentStep_ = step;
  return {};
}

void RunControl::repeatStep(SetKnobs change) {
  const std::lock_guard lock(mutex_);
  change.atStep = currentStep_;
  schedule_.add(change);
  --currentStep_;
  if (wasBrief_) ++briefSteps_;
  wasBrief_ = false;
}

bool RunControl::stopRequested() const {
  const std::lock_guard lock(mutex_);
  return stopRequested_;
}

Result<void> RunControl::schedule(const SetKnobs& change) {
  const std::lock_guard lock(mutex_);
  const Result<std::uint32_t> step = scheduleLocked(change);
  if (!step) return step.error();
  return {};
}

Knobs RunControl::knobs() const {
  const std::lock_guard lock(mutex_);
  return knobs_;
}

Result<std::uint32_t> RunControl::scheduleLocked(SetKnobs change) {
  if (auto fine = checkKnobs(change, limits_); !fine) return fine.error();
  if (change.atStep == 0) change.atStep = currentStep_ + 1;
  if (change.atStep <= currentStep_) {
    return usageError("step " + std::to_string(change.atStep) +
                      " has begun already; the next one is " + std::to_string(currentStep_ + 1));
  }
  if (plannedSteps_ > 0 && change.atStep > plannedSteps_) {
    return usageError("step " + std::to_string(change.atStep) + " is past the last one, " +
                      std::to_string(plannedSteps_));
  }
  schedule_.add(change);
  return change.atStep;
}

}  // namespace highwater::process

#include "python/native/script_control.h"

#include <utility>
#include <variant>

#include "core/knobs.h"

namespace highwater::python {

void ScriptControl::welcome() {
  const std::lock_guard lock(mutex_);
  welcomed_ = true;
  changed_.notify_all();
}

CommandResult ScriptControl::obey(const Command& command) {
  const std::lock_guard lock(mutex_);
  CommandResult result;
  result.commandId = command.id;
  result.effectiveStep = step_ + 1;
  if (const auto* change = std::get_if<SetKnobs>(&command.action)) {
    result.message = carryOut(*change);
  } else if (const auto* level = std::get_if<SetProbeLevel>(&command.action)) {
    result.message = carryOut(*level);
  } else if (std::holds_alternative<PauseTraining>(command.action)) {
    order(Order::Kind::kPause);
  } else if (std::holds_alternative<ResumeTraining>(command.action)) {
    order(Order::Kind::kResume);
  } else if (std::holds_alternative<EmptyCache>(command.action)) {
    order(Order::Kind::kEmptyCache);
  } else if (std::holds_alternative<StopTraining>(command.action)) {
    order(Order::Kind::kStop);
  }  // else StartTraining: the script has started itself
  result.accepted = result.message.empty();
  return result;
}

std::string ScriptControl::carryOut(const SetKnobs& change) {
  if (change.sequenceLength || change.lossEvery) {
    return "the script has no such knob; it can offer one by highwater.knob()";
  }
  if (change.atStep != 0) return "a script's batch size changes at its next batch";
  if (!offersBatchSize_) {
    return "the batch size cannot be changed: the script has no loader with a stock batch sampler; "
           "it can offer a knob by highwater.knob()";
  }
  if (auto fine = checkKnobs(change, {}); !fine) return fine.error().message;
  order(Order::Kind::kBatchSize, *change.batchSize);
  return {};
}

std::string ScriptControl::carryOut(const SetProbeLevel& change) {
  if (change.level < events::ProbeLevel::Off || change.level > events::ProbeLevel::MAX) {
    return "this Highwater does not know that probe level";
  }
  order(Order::Kind::kLevel, static_cast<std::uint32_t>(change.level));
  if (change.steps == 0) {
    level_ = change.level;
    levelBackAt_ = 0;
  } else {
    levelBackAt_ = step_ + 1 + change.steps;
  }
  return {};
}

bool ScriptControl::waitForWelcome(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return welcomed_ || gone_; });
  return welcomed_ && !gone_;
}

void ScriptControl::hostGone() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
  orders_.clear();
  order(Order::Kind::kResume);
  changed_.notify_all();
}

void ScriptControl::setStep(std::uint32_t step) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  if (levelBackAt_ == 0 || step < levelBackAt_) return;
  levelBackAt_ = 0;
  order(Order::Kind::kLevel, static_cast<std::uint32_t>(level_));
}

void ScriptControl::offerBatchSize() {
  const std::lock_guard lock(mutex_);
  offersBatchSize_ = true;
}

std::vector<ScriptControl::Order> ScriptControl::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(orders_, {});
}

}  // namespace highwater::python

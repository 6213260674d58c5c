#include "python/native/script_control.h"

#include <algorithm>
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
  if (const auto* change = std::get_if<SetScriptKnob>(&command.action)) {
    result.message = carryOut(*change);
  } else if (std::holds_alternative<SetKnobs>(command.action)) {
    result.message = "a script has only the knobs that it offers";
  } else if (const auto* level = std::get_if<SetProbeLevel>(&command.action)) {
    result.message = carryOut(*level);
  } else if (const auto* tries = std::get_if<TryBlock>(&command.action)) {
    result.message = carryOut(*tries);
  } else if (std::holds_alternative<PauseTraining>(command.action)) {
    order(Order::Kind::kPause);
  } else if (std::holds_alternative<ResumeTraining>(command.action)) {
    order(Order::Kind::kResume);
  } else if (std::holds_alternative<EmptyCache>(command.action)) {
    order(Order::Kind::kEmptyCache);
  } else if (std::holds_alternative<StopTraining>(command.action)) {
    order(Order::Kind::kStop);
  } else if (std::holds_alternative<SignalProgram>(command.action)) {
    result.message = "only the host of a program sends it signals";
  }  // else StartTraining: the script has started itself
  result.accepted = result.message.empty();
  return result;
}

std::string ScriptControl::carryOut(const SetScriptKnob& change) {
  const auto place = placeOf(change.name, change.value);
  if (!place) return place.error().message;
  orders_.push_back({.kind = Order::Kind::kKnob, .knob = *place, .value = change.value});
  return {};
}

Result<std::size_t> ScriptControl::placeOf(const std::string& name,
                                           std::optional<double> value) const {
  const auto found = std::find_if(knobs_.begin(), knobs_.end(),
                                  [&](const ScriptKnob& each) { return each.name == name; });
  if (found == knobs_.end()) return usageError("the script has no such knob");
  if (value && !isValueOf(*found, *value)) {
    return usageError("the script allows " + allowedText(*found));
  }
  return static_cast<std::size_t>(found - knobs_.begin());
}

std::string ScriptControl::carryOut(const SetProbeLevel& change) {
  if (change.level < events::ProbeLevel::Off || change.level > events::ProbeLevel::MAX) {
    return "this Highwater does not know that probe level";
  }
  orderLevel(change.level);
  if (change.steps == 0) {
    level_ = change.level;
    levelBackAt_ = 0;
  } else {
    levelBackAt_ = step_ + 1 + change.steps;
  }
  return {};
}

std::string ScriptControl::carryOut(TryBlock tries) {
  if (tries.callSites.size() > kMostTriedSites) {
    return "at most " + std::to_string(kMostTriedSites) + " places can be tried at once";
  }
  Order order{.kind = Order::Kind::kTry, .tries = std::move(tries)};
  if (!order.tries.knob.empty()) {
    // A script's own value may be none that it allows.
    const bool isChanged = order.tries.part == TryBlock::Part::kChanged;
    const auto place =
        placeOf(order.tries.knob, isChanged ? std::optional(order.tries.value) : std::nullopt);
    if (!place) return place.error().message;
    order.knob = *place;
  }
  const TryBlock::Part part = order.tries.part;
  if (part == TryBlock::Part::kOver) {
    endOfTry_.reset();
  } else if (part == TryBlock::Part::kAsItWas) {
    endOfTry_ = order;
    endOfTry_->tries.part = TryBlock::Part::kOver;
    endOfTry_->tries.callSites.clear();
  } else if (!endOfTry_ || part != TryBlock::Part::kChanged) {
    return "a try begins with steps as they are";
  }
  orders_.push_back(std::move(order));
  return {};
}

bool ScriptControl::waitForWelcome(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return welcomed_ || gone_; });
  return welcomed_ && !gone_;
}

void ScriptControl::hostGone(std::string why) {
  const std::lock_guard lock(mutex_);
  if (gone_.exchange(true)) return;
  // What it was asked to stop, or to set again as it was, it still does.
  std::erase_if(orders_, [](const Order& each) {
    const bool endsTry = each.kind == Order::Kind::kTry && each.tries.part == TryBlock::Part::kOver;
    return each.kind != Order::Kind::kKnob && each.kind != Order::Kind::kStop && !endsTry;
  });
  order(Order::Kind::kResume);
  if (endOfTry_) orders_.push_back(*std::exchange(endOfTry_, std::nullopt));
  if (!why.empty()) orders_.push_back({.kind = Order::Kind::kTell, .text = std::move(why)});
  changed_.notify_all();
}

void ScriptControl::setLevel(events::ProbeLevel level) {
  const std::lock_guard lock(mutex_);
  level_ = level;
}

void ScriptControl::setStep(std::uint32_t step) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  // The order is taken at the end of this step, and applies from the next one on.
  if (levelBackAt_ == 0 || step + 1 < levelBackAt_) return;
  levelBackAt_ = 0;
  orderLevel(level_);
}

void ScriptControl::offer(const ScriptKnob& knob) {
  const std::lock_guard lock(mutex_);
  knobs_.push_back(knob);
}

std::vector<ScriptControl::Order> ScriptControl::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(orders_, {});
}

}  // namespace highwater::python

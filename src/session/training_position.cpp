#include "session/training_position.h"

#include <algorithm>

#include "core/names.h"
#include "core/plain_text.h"

namespace highwater::session {
namespace {

/// A name may be much longer than a sentence can hold.
constexpr std::size_t kMaxShownName = 256;

std::string phaseText(events::Phase phase) {
  return phase == events::Phase::None ? std::string() : std::string(phaseName(phase));
}

}  // namespace

QString stallText(const Stall& stall) {
  const std::string phase = phaseText(stall.phase);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(stall.duration).count();
  std::string text = stall.step == 0 ? "the training" : "step " + std::to_string(stall.step);
  text += " has stood in " + (phase.empty() ? stall.op : phase) + " for " +
          std::to_string(seconds) + " s";
  // A phase is a span as well, and may be the innermost one.
  if (!phase.empty() && stall.op != phase) text += ", in " + stall.op;
  return QString::fromStdString(highwater::plainText(text));
}

void TrainingPosition::take(const Message& message) {
  if (const auto* definitions = std::get_if<Definitions>(&message)) {
    Definitions names;
    names.names = definitions->names;
    names_.add(names);
  } else if (const auto* run = std::get_if<RunDescription>(&message)) {
    plannedSteps_ = run->plannedSteps;
  } else if (const auto* batch = std::get_if<EventBatch>(&message)) {
    openSpans_.add(*batch);
    for (const events::Heartbeat& beat : batch->heartbeats) heartbeatStep_ = beat.step();
    for (const events::StepRecord& step : batch->steps) stepsDone_ = step.step();
  }
}

std::string TrainingPosition::openOp() const {
  const auto open = openSpans_.innermost();
  return open ? names_.name(open->span.name()).substr(0, kMaxShownName) : std::string();
}

std::optional<Stall> TrainingPosition::stall() const {
  const auto open = openSpans_.innermost();
  // A long evaluation is no stall. An op inside it that takes long is the innermost span.
  if (!open || openOp() == kEvaluationSpan) return std::nullopt;
  return Stall{open->span.step(), open->span.phase(), openOp(), open->stalledFor};
}

std::string TrainingPosition::text() const {
  const auto open = openSpans_.innermost();
  // A heartbeat comes five times a second: a step may have ended since.
  std::uint32_t step = stepsDone_ > 0 ? std::max(heartbeatStep_, stepsDone_ + 1) : heartbeatStep_;
  if (open) step = open->span.step();
  const bool between = open ? step == 0 : plannedSteps_ > 0 && stepsDone_ >= plannedSteps_;
  std::string text;
  if (between && stepsDone_ > 0) {
    text = "after step " + std::to_string(stepsDone_);
  } else if (step > 0) {
    text = "in step " + std::to_string(step);
  }
  if (!open) return text;
  if (const std::string phase = phaseText(open->span.phase()); !phase.empty()) {
    text += (text.empty() ? "in " : ", ") + phase;
  }
  return text + (text.empty() ? "while " : ", while ") + openOp() + " was open";
}

}  // namespace highwater::session

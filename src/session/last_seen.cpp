#include "session/last_seen.h"

#include <algorithm>

#include "core/names.h"

namespace highwater::session {
namespace {

constexpr std::size_t kMaxKeptName = 256;
// Open spans are published again and again; one that was not seen for so long has been closed.
constexpr std::int64_t kFreshNs = 500'000'000;

}  // namespace

void LastSeen::take(const Message& message) {
  if (const auto* definitions = std::get_if<Definitions>(&message)) {
    for (const NameDefinition& name : definitions->names) {
      names_[name.id] = name.text.substr(0, kMaxKeptName);
    }
  } else if (const auto* run = std::get_if<RunDescription>(&message)) {
    planned_ = run->plannedSteps;
  } else if (const auto* batch = std::get_if<EventBatch>(&message)) {
    takeBatch(*batch);
  }
}

void LastSeen::takeBatch(const EventBatch& batch) {
  completeUpToNs_ = batch.completeUpToNs;
  for (const events::Heartbeat& beat : batch.heartbeats) beatStep_ = beat.step();
  for (const events::StepRecord& step : batch.steps) stepsDone_ = step.step();
  if (batch.openSpans.empty()) return;
  const events::OpenSpan* innermost = &batch.openSpans.front();
  for (const events::OpenSpan& span : batch.openSpans) {
    const bool newer = span.seen_ns() > innermost->seen_ns();
    const bool deeper =
        span.seen_ns() == innermost->seen_ns() && span.begin_ns() >= innermost->begin_ns();
    if (newer || deeper) innermost = &span;
  }
  open_ = *innermost;
}

bool LastSeen::openIsFresh() const {
  return open_.name() != kNoId && open_.step() > stepsDone_ &&
         open_.seen_ns() + kFreshNs >= completeUpToNs_;
}

/// A heartbeat comes a few times a second: the steps that were finished since tell more.
std::uint32_t LastSeen::runningStep() const {
  return stepsDone_ > 0 ? std::max(beatStep_, stepsDone_ + 1) : beatStep_;
}

std::string LastSeen::openOp() const {
  if (!openIsFresh()) return {};
  const auto name = names_.find(open_.name());
  return name == names_.end() ? std::string("another op") : name->second;
}

std::optional<LastSeen::Standing> LastSeen::standing() const {
  if (!openIsFresh()) return std::nullopt;
  return Standing{open_.step(), open_.phase(), openOp(),
                  std::chrono::nanoseconds(open_.seen_ns() - open_.begin_ns())};
}

std::string LastSeen::where() const {
  const bool open = openIsFresh();
  if (!open && planned_ > 0 && stepsDone_ >= planned_) {
    return "after step " + std::to_string(stepsDone_);
  }
  const std::uint32_t step = open ? open_.step() : runningStep();
  if (step == 0) return {};
  std::string text = "in step " + std::to_string(step);
  if (open && open_.phase() != events::Phase::None) {
    text += ", " + std::string(phaseName(open_.phase()));
  }
  if (open) text += ", while " + openOp() + " was open";
  return text;
}

}  // namespace highwater::session

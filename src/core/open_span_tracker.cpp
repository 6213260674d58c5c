#include "core/open_span_tracker.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace highwater {
namespace {

/// Two heartbeats and some slack.
constexpr std::int64_t kFreshNs = 500'000'000;

std::int64_t endOf(const events::StepRecord& step) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return step.begin_ns() > kMost - step.duration_ns() ? kMost
                                                      : step.begin_ns() + step.duration_ns();
}

}  // namespace

void OpenSpanTracker::add(const EventBatch& batch) {
  for (const events::OpenSpan& span : batch.openSpans) add(span);
  newestNs_ = std::max(newestNs_, batch.completeUpToNs);
  for (const events::Heartbeat& beat : batch.heartbeats) {
    newestNs_ = std::max(newestNs_, beat.time_ns());
    const bool movedOn = span_ && beat.step() > span_->step() && beat.time_ns() >= span_->seen_ns();
    if (movedOn) span_.reset();
  }
  for (const events::StepRecord& step : batch.steps) {
    stepEndNs_ = std::max(stepEndNs_, endOf(step));
    stepsDone_ = std::max(stepsDone_, step.step());
  }
  if (span_ && stepEndNs_ >= span_->seen_ns()) span_.reset();
}

void OpenSpanTracker::add(const events::OpenSpan& span) {
  // The spans of one report carry one time. Within a thread the deeper one began later, or at the
  // same time.
  const auto order = [](const events::OpenSpan& s) {
    return std::tuple(s.seen_ns(), s.begin_ns(), s.depth());
  };
  if (!span_ || order(span) >= order(*span_)) span_ = span;
}

std::optional<OpenSpanState> OpenSpanTracker::innermost() const {
  if (!span_ || span_->seen_ns() < newestNs_ - kFreshNs) return std::nullopt;
  const events::OpenSpan& s = *span_;
  const std::uint32_t step = s.step() > stepsDone_ ? s.step() : 0;
  return OpenSpanState{
      events::OpenSpan(s.begin_ns(), s.seen_ns(), step, s.name(), s.thread(), s.depth(), s.phase()),
      std::chrono::nanoseconds(s.seen_ns() - std::max(s.begin_ns(), stepEndNs_))};
}

}  // namespace highwater

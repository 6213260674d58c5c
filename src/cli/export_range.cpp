#include "cli/export_range.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "core/event_kinds.h"
#include "core/message_sink.h"

namespace highwater::cli {
namespace {

/// Finds when some steps begin and end.
class StepTimes final : public MessageSink {
 public:
  explicit StepTimes(std::pair<std::uint32_t, std::uint32_t> steps) : steps_(steps) {}

  void take(std::span<const std::uint8_t>, const Message& message) override {
    const auto* batch = std::get_if<EventBatch>(&message);
    if (!batch) return;
    for (const events::StepRecord& step : batch->steps) {
      last_ = std::max(last_, step.step());
      if (step.step() < steps_.first || step.step() > steps_.second) continue;
      if (!range_) range_ = analysis::TimeRange{step.begin_ns(), 0};
      range_->endNs = std::max(range_->endNs, endNsOf(step));
    }
  }

  [[nodiscard]] Result<analysis::TimeRange> range() const {
    if (range_) return *range_;
    return usageError(last_ == 0 ? "the recording has no step"
                                 : "--steps: the recording has only the steps up to " +
                                       std::to_string(last_));
  }

 private:
  std::pair<std::uint32_t, std::uint32_t> steps_;
  std::optional<analysis::TimeRange> range_;
  std::uint32_t last_ = 0;
};

}  // namespace

Result<std::optional<analysis::TimeRange>> rangeOf(const DataExportOptions& options,
                                                   const run::LoadControl& control) {
  if (options.steps) {
    StepTimes times(*options.steps);
    if (auto read = run::loadReadablePart(options.recording, times, control); !read) {
      return read.error();
    }
    auto range = times.range();
    if (!range) return range.error();
    return std::optional(*range);
  }
  if (!options.fromNs && !options.untilNs) return std::optional<analysis::TimeRange>();
  return std::optional(
      analysis::TimeRange{options.fromNs.value_or(INT64_MIN), options.untilNs.value_or(INT64_MAX)});
}

}  // namespace highwater::cli

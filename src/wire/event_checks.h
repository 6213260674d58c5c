#pragma once

#include <string>
#include <vector>

#include "core/messages.h"
#include "wire/validator.h"

/// The rules of single events, apart from the validator's memory of the stream.
namespace highwater::wire {

/// What is known when an event arrives.
struct EventContext {
  const std::vector<bool>& names;
  const std::vector<bool>& modules;
  const std::vector<bool>& callSites;
  const std::vector<bool>& threads;
  std::int64_t completeUpToNs;
};

/// The rule that an event breaks, and on which field; kNone where it breaks none.
struct Complaint {
  Violation violation = Violation::kNone;
  std::string detail;
};

/// kNoId and kOtherId need no definition.
[[nodiscard]] bool isDefined(const std::vector<bool>& known, std::uint32_t id);

[[nodiscard]] Complaint checkEvent(const events::MemorySample& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::SystemSample& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::StepRecord& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::PhaseSpan& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::SyncPoint& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::FallbackEvent& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::Marker& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::Evaluation& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::OpenSpan& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::Heartbeat& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::DropRecord& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::DeviceSpan& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::OpSpan& e, const EventContext& context);
[[nodiscard]] Complaint checkEvent(const events::PhaseMemory& e, const EventContext& context);

}  // namespace highwater::wire

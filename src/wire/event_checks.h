#pragma once

#include <string>
#include <vector>

#include "core/messages.h"
#include "wire/validator.h"

/// The rules for single events and knobs. Rules that need more of the stream are in validator.cpp.
namespace highwater::wire {

/// What the messages before an event have said, as far as the check of the event needs it.
struct EventContext {
  // By id: whether it is defined.
  const std::vector<bool>& names;
  const std::vector<bool>& modules;
  const std::vector<bool>& callSites;
  const std::vector<bool>& threads;
  std::int64_t completeUpToNs;
};

/// The result of checkEvent(): the first rule that an event breaks and the field that breaks it.
/// kNone if it breaks none.
struct BrokenRule {
  Violation violation = Violation::kNone;
  std::string detail;
};

/// True if an event may use `id`: the id is defined, by `known[id]`, or it is kNoId or kOtherId,
/// which need no definition.
[[nodiscard]] bool isDefined(const std::vector<bool>& known, std::uint32_t id);

/// Checks the texts and values of a script's knob, which a sender must do before it sends one.
[[nodiscard]] BrokenRule checkScriptKnob(const ScriptKnob& knob);

/// Declares checkEvent(event, context) for each kind of event. It checks one event against the
/// protocol's rules and what the stream has said before.
#define HIGHWATER_CHECK(Event, member, field, loss, name) \
  [[nodiscard]] BrokenRule checkEvent(const events::Event& e, const EventContext& context);
HIGHWATER_EVENT_KINDS(HIGHWATER_CHECK)
#undef HIGHWATER_CHECK

}  // namespace highwater::wire

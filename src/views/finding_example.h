#pragma once

#include <optional>

#include "analysis/findings.h"
#include "views/event_focus.h"

namespace highwater::views {

/// Where in the timeline a finding shows best.
struct FindingExample {
  TimeRange range;                ///< the step that it lies in, or the steps that it is about
  std::optional<EventRef> event;  ///< the costliest one, where the finding is about events
};

/// None where the store has no such step (any more).
[[nodiscard]] std::optional<FindingExample> exampleOf(const analysis::LiveStore& store,
                                                      const analysis::Finding& finding);

}  // namespace highwater::views

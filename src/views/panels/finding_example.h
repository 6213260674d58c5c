#pragma once

#include <optional>

#include "analysis/findings/findings.h"
#include "views/panes/event_focus.h"

namespace highwater::views {

/// The place in the timeline that shows a finding best.
struct FindingExample {
  TimeRange range;                ///< the step of the event, or all steps of the finding
  std::optional<EventRef> event;  ///< the longest one, if the finding is about events
};

/// Finds the place in the timeline that shows a finding best. std::nullopt if the store has none of
/// the finding's steps.
[[nodiscard]] std::optional<FindingExample> exampleOf(const analysis::LiveStore& store,
                                                      const analysis::Finding& finding);

}  // namespace highwater::views

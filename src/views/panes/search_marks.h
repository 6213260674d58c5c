#pragma once

#include <vector>

#include "models/search_model.h"
#include "views/lanes/event_ref.h"
#include "views/panes/time_axis.h"

namespace highwater::views {

/// The event of a hit, as the timeline knows it.
[[nodiscard]] EventRef eventOf(const analysis::SearchHit& hit);

/// Returns the pixel columns from `left` to `right`, in ascending order, in which hits begin.
/// `hits` are sorted by time; the cost is columns × log N.
[[nodiscard]] std::vector<int> hitColumns(const std::vector<analysis::SearchHit>& hits,
                                          const TimeScale& scale, int left, int right);

}  // namespace highwater::views

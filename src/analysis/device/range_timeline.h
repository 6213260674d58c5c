#pragma once

#include <cstddef>

#include "analysis/device/host_timeline.h"

namespace highwater::analysis {

/// The timeline of some steps with as many before and after them as it takes to contain the whole
/// stretches, from drain to drain, that these steps are part of.
struct RangeTimeline {
  std::size_t first = 0, last = 0;  ///< the rows of the steps in it
  HostTimeline host;

  /// For the steps [from, to). Precondition: from < to, and `to` is at most the number of steps.
  RangeTimeline(const LiveStore& store, std::size_t from, std::size_t to);

  /// The least number of steps that such a timeline contains, found without making it.
  [[nodiscard]] static std::size_t leastRows(const LiveStore& store, std::size_t from,
                                             std::size_t to);
};

}  // namespace highwater::analysis

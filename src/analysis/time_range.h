#pragma once

#include <cstdint>

namespace highwater::analysis {

/// The range of time [beginNs, endNs), in ns since the start of the run.
struct TimeRange {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;

  bool operator==(const TimeRange&) const = default;
};

/// Whether an event lies in a range, or a part of it does. A span that only ends where the range
/// begins does not; an event without a duration does.
[[nodiscard]] constexpr bool touches(const TimeRange& range, std::int64_t beginNs,
                                     std::int64_t endNs) {
  return beginNs < range.endNs && (endNs > range.beginNs || beginNs >= range.beginNs);
}

}  // namespace highwater::analysis

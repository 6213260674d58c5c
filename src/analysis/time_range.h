#pragma once

#include <cstdint>

namespace highwater::analysis {

/// The range of time [beginNs, endNs), in ns since the start of the run.
struct TimeRange {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;

  bool operator==(const TimeRange&) const = default;
};

}  // namespace highwater::analysis

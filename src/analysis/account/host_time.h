#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/account/time_account.h"

namespace highwater::analysis {

/// What the host did at one line of the user's code in one part of the run. Waits and fallbacks are
/// measured; of work the part's time is measured, and shared among its lines by host samples.
struct HostTimeRow {
  Part part;
  Activity activity = Activity::Work;
  bool planned = false;   ///< a wait that the training loop intends
  CallSiteId id = kNoId;  ///< a call site of the line
  /// Empty where unknown: threads of backward have no line, and work without a sample has none. Of
  /// Highwater's hooks only the library: kHighwaters.
  CallSiteParts site;
  std::int64_t ns = 0;
  std::int64_t lowNs = 0, highNs = 0;  ///< bounds of `ns`: see hostTime()
  std::uint64_t samples = 0;           ///< of work: host samples of the line
  std::uint64_t count = 0;             ///< waits and fallbacks that began
};

/// The host's time in a range, or in the whole run, by line; the longest first. The rows add up to
/// the range without pauses and without Highwater's own work, but for rounding.
///
/// The bounds of work are Wilson's 95 % interval of a share of independent samples (E. B. Wilson,
/// "Probable inference, the law of succession, and statistical inference", 1927).
[[nodiscard]] std::vector<HostTimeRow> hostTime(const LiveStore& store,
                                                std::optional<TimeRange> range = std::nullopt);

}  // namespace highwater::analysis

#pragma once

#include <string>
#include <vector>

#include "analysis/account/time_account.h"
#include "analysis/comparison.h"
#include "analysis/findings/findings.h"
#include "core/result.h"

namespace highwater::analysis {

/// Something about two runs that is not the same in both.
struct DifferentSetting {
  std::string name, a, b;  ///< "batch size", "16", "32"; "unknown" where one does not tell
};

/// The host's time in one region of two runs, in ms.
struct ComparedRegion {
  Region region = Region::Step;
  double msA = 0, msB = 0;
};

/// Two recordings side by side: their numbers, and what else tells them apart.
struct RunComparison {
  Comparison numbers;
  std::vector<DifferentSetting> settings;  ///< only what differs
  /// Why some numbers do not compare, as sentences.
  std::vector<std::string> cautions;
  std::vector<ComparedRegion> regions;  ///< those with time in one of them
  Findings a, b;
  std::vector<Finding> gone, come;  ///< findings of one run that the other does not have
};

/// Compares two runs as wholes. Findings are the same where kind, ops and line are; a line that has
/// moved counts as the same. One without a line, of the time as a whole, counts as gone or new only
/// where the median step differs. Fails with kFailed where one of the runs has no step;
/// the message says which.
[[nodiscard]] Result<RunComparison> compareRecordings(const LiveStore& a, const LiveStore& b);

}  // namespace highwater::analysis

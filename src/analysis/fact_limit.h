#pragma once

#include <string>
#include <string_view>

#include "analysis/comparison.h"
#include "core/result.h"

namespace highwater::analysis {

/// A limit for a number of the second of two runs, or for its change: "step_ms.p50 > +5 %" is
/// broken where the step takes more than 5 % longer.
struct FactLimit {
  /// What the bound is for.
  enum class Of { kValue, kChange, kShareOfChange };

  std::string text;  ///< as given
  const Fact* fact = nullptr;
  bool above = true;  ///< broken above the bound, else below it
  Of of = Of::kChange;
  double bound = 0;  ///< in the unit of the JSON report; of a share 0.05 for 5 %
};

/// Whether two runs keep a limit.
enum class LimitOutcome {
  kKept,
  kBroken,
  kUnknown,  ///< the number is not known of both runs, or they have too few steps to tell chance
};

/// Reads a limit: a key of facts(), > or <, and a number. With a sign the number is for the change
/// from A to B, in percent or in the fact's unit: "+5 %", "-20 ms", "+64 MiB"; without a sign it is
/// for B's value: "250 ms". Fails with kUsage; the message names `option` and says what is wrong.
[[nodiscard]] Result<FactLimit> parseFactLimit(std::string_view option, std::string_view text);

/// Judges a limit. A change breaks it only where it is more than chance explains; one that asks for
/// an improvement ("> -5 %") is kept only by one that is as large.
[[nodiscard]] LimitOutcome judge(const FactLimit& limit, const Comparison& compared);

}  // namespace highwater::analysis

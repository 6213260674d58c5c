#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/events_generated.h"
#include "core/messages.h"
#include "core/result.h"
#include "core/run_limits.h"

namespace highwater::worker {

/// What the knobs may be set to.
struct KnobLimits {
  std::uint32_t maxBatchSize = kMostBatchSize;
  std::uint32_t maxSequenceLength = 0;  ///< the length of the position table
};

/// kUsage, with the value and the allowed range, where one of the changes is out of limits or there
/// is none.
[[nodiscard]] Result<void> checkKnobs(const SetKnobs& change, const KnobLimits& limits);

/// Reads "STEP:batch=N", "STEP:seq=N" or "STEP:loss-every=N". kUsage.
[[nodiscard]] Result<SetKnobs> parseKnobChange(std::string_view text);

/// One knob that changed at the beginning of a step.
struct KnobChange {
  events::MarkerKind kind = events::MarkerKind::None;
  std::uint32_t before = 0;
  std::uint32_t after = 0;
};

/// Changes that wait for their step.
class KnobSchedule {
 public:
  /// Precondition: change.atStep is at least 1, and was not applied yet. A later call for the same
  /// step and knob wins.
  void add(const SetKnobs& change);
  /// Applies what is due up to and including `step` to `knobs`; returns what became different.
  std::vector<KnobChange> apply(std::uint32_t step, Knobs& knobs);

 private:
  std::map<std::uint32_t, SetKnobs> changes_;
};

}  // namespace highwater::worker

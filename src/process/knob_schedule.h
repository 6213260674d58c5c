#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/events_generated.h"
#include "core/messages.h"

namespace highwater::process {

/// A knob (core/knobs.h) whose value changed at the beginning of a step.
struct KnobChange {
  events::MarkerKind kind = events::MarkerKind::None;
  double before = 0;
  double after = 0;
};

/// Holds changes of knobs, the training settings that can change during a run, until the step at
/// which they take effect. Not thread-safe.
class KnobSchedule {
 public:
  /// Adds a change for step `change.atStep`, which must be at least 1. A later call for the same
  /// step and knob replaces the earlier one.
  void add(const SetKnobs& change);
  /// Applies every change due at or before `step` to `knobs`. Returns the knobs whose values
  /// changed. With keepEffectiveBatch a change of either the batch size or the accumulation sets
  /// the other to the value that comes nearest to the effective batch; a change of both sets a new
  /// one.
  std::vector<KnobChange> apply(std::uint32_t step, Knobs& knobs);

 private:
  void keepEffective(const SetKnobs& requested, const Knobs& before, Knobs& knobs);

  std::map<std::uint32_t, SetKnobs> changes_;
  double effective_ = 0;  ///< the effective batch that is kept; 0: none
};

}  // namespace highwater::process

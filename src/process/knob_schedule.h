#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/events_generated.h"
#include "core/messages.h"

namespace highwater::process {

/// A knob (a training setting that can change during a run) whose value changed at the beginning of
/// a step.
struct KnobChange {
  events::MarkerKind kind = events::MarkerKind::None;
  std::uint32_t before = 0;
  std::uint32_t after = 0;
};

/// Holds changes of knobs, the training settings that can change during a run, until the step at
/// which they take effect. Not thread-safe.
class KnobSchedule {
 public:
  /// Adds a change for step `change.atStep`, which must be at least 1. A later call for the same
  /// step and knob replaces the earlier one.
  void add(const SetKnobs& change);
  /// Applies every change due at or before `step` to `knobs`. Returns the knobs whose values
  /// changed.
  std::vector<KnobChange> apply(std::uint32_t step, Knobs& knobs);

 private:
  std::map<std::uint32_t, SetKnobs> changes_;
};

}  // namespace highwater::process

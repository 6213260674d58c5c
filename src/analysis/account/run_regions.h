#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/time_range.h"

namespace highwater::analysis {

/// What the training thread was in the middle of. Each moment of a run belongs to one region.
enum class RegionKind : std::uint8_t {
  BeforeSteps,   ///< until the first step begins
  Step,          ///< with what the script calls its own phases within it
  Evaluation,    ///< from the first to the last evaluation between two steps, with what is between
  NamedPhase,    ///< what the script names, outside of steps and evaluations
  BetweenSteps,  ///< any other time between two steps
  AfterSteps,    ///< any other time after the last step that has finished
};
/// The kind for people: "before step 1", "steps", "evaluation".
[[nodiscard]] std::string_view regionName(RegionKind kind);
/// The kind as a word of the JSON report: "before_steps".
[[nodiscard]] std::string_view regionKey(RegionKind kind);

/// One visit of a region.
struct RunRegion {
  RegionKind kind = RegionKind::BeforeSteps;
  TimeRange time;
  std::size_t stepRow = 0;  ///< of a Step: the row of LiveStore::steps()
  NameId name = kNoId;      ///< of a NamedPhase
};

/// Divides all time into regions, in order of time and without gaps: the first begins at the least
/// time that there is, and the last ends at the greatest. A step that begins before the step before
/// it has ended, as a recording may claim, gets the rest of its time, which may be empty.
[[nodiscard]] std::vector<RunRegion> regionsOf(const LiveStore& store);

}  // namespace highwater::analysis

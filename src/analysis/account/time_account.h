#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/time_range.h"

namespace highwater::analysis {

/// Where in the run a moment lies. Each moment lies in exactly one region.
enum class Region : std::uint8_t {
  StartUp,     ///< before the first step
  Step,        ///< of the training
  Evaluation,  ///< from its first batch to the read of its results, with what lies between
  NamedPhase,  ///< a phase that the script names itself, outside of steps and evaluations
  Highwater,  ///< its own work: a checkpoint of the built-in workload, a look at a script's objects
  Pause,      ///< the user paused the training
  BetweenSteps,  ///< anything else between two steps
  AfterSteps     ///< after the last step
};
/// The number of values of Region.
inline constexpr std::size_t kRegions = 8;
/// The name of a region for people: "start-up".
[[nodiscard]] std::string_view regionName(Region region);
/// The name of a region for programs, as in JSON: "start_up".
[[nodiscard]] std::string_view regionKey(Region region);

/// What the host does at a moment.
enum class Activity : std::uint8_t {
  Work,        ///< runs its own code, or queues ops
  Wait,        ///< waits for the device
  Fallback,    ///< runs an op on the CPU that the device lacks
  LoaderStart  ///< waits for the workers of a DataLoader to start
};
/// The number of values of Activity.
inline constexpr std::size_t kActivities = 4;
/// The name of an activity for programs, as in JSON: "wait".
[[nodiscard]] std::string_view activityKey(Activity activity);

/// The part of a region in which a moment lies.
struct Part {
  Region region = Region::StartUp;
  /// The phase of a step or of an evaluation. None: outside of phases.
  events::Phase phase = events::Phase::None;
  /// Outside of phases: the last phase before, in the same step or evaluation. None: before the
  /// first of them.
  events::Phase after = events::Phase::None;
  NameId name = kNoId;  ///< of the phase that the script names; kNoId: in none

  auto operator<=>(const Part&) const = default;
};

/// A span of time in which the host did one thing in one part of the run.
struct AccountSpan {
  std::int64_t beginNs = 0, endNs = 0;
  Part part;
  Activity activity = Activity::Work;
  /// Index of LiveStore::syncPoints() for a wait, of fallbacks() for Activity::Fallback and for the
  /// wait of a fallback (see ofFallback).
  std::uint32_t event = 0;
  bool ofFallback = false;
  std::size_t row =
      0;  ///< of the step that contains it, or that came before it; 0 before the first
  std::uint32_t visit = 0;  ///< counts the stays in a region, from 0 on

  [[nodiscard]] std::int64_t ns() const { return endNs - beginNs; }
};

/// Calls f(span) for what the host did in a range of time, in order: the spans touch, and cover the
/// range. What another thread than those that train does counts only in a backward pass, for which
/// the training thread waits. Costs the events that touch the range.
void walkAccount(const LiveStore& store, const TimeRange& range,
                 const std::function<void(const AccountSpan&)>& f);

/// The time of a run: from the handshake to the last event.
[[nodiscard]] TimeRange wholeRun(const LiveStore& store);

/// Time that was spent in the same way.
struct AccountRow {
  Part part;
  Activity activity = Activity::Work;
  events::SyncKind kind = events::SyncKind::None;  ///< what the host waited for
  bool planned = false;                            ///< a wait that the training loop intends
  // Of the op that waits or runs on the CPU.
  NameId op = kNoId;
  ModuleId module = kNoId;
  CallSiteId site = kNoId;

  std::int64_t ns = 0;
  /// Waits and fallbacks that began; 0 for work. A fallback that waits and then computes counts in
  /// its row of either.
  std::uint64_t count = 0;
};

/// Where the time of a range went.
struct TimeAccount {
  TimeRange range;
  std::vector<AccountRow> rows;  ///< the longest first; together as long as the range
  std::array<std::uint64_t, kRegions> visits{};  ///< how often the run came into a region

  /// The summed time of the rows that `is` holds for, in ns.
  template <typename Is>
  [[nodiscard]] std::int64_t nsWhere(Is&& is) const {
    std::int64_t ns = 0;
    for (const AccountRow& row : rows) ns += is(row) ? row.ns : 0;
    return ns;
  }
  /// The time in a region, in ns.
  [[nodiscard]] std::int64_t nsIn(Region region) const {
    return nsWhere([region](const AccountRow& row) { return row.part.region == region; });
  }
  /// The time that the run takes of its own: without pauses, and without what Highwater does, in
  /// ns.
  [[nodiscard]] std::int64_t nsOfRun() const {
    return range.endNs - range.beginNs - nsIn(Region::Pause) - nsIn(Region::Highwater);
  }
};

/// Adds up a range of time, or the whole run. The rows add up to its length to the nanosecond.
[[nodiscard]] TimeAccount accountTime(const LiveStore& store,
                                      std::optional<TimeRange> range = std::nullopt);

/// The name of a part for people: "forward", "after optimizer step" where it lies outside of
/// phases, or the script's own word; in an evaluation "calls of the model", or of a script "the
/// model and what is made of its results".
[[nodiscard]] std::string partText(const LiveStore& store, const Part& part);

}  // namespace highwater::analysis

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

enum class FindingKind : std::uint8_t {
  NearLimit,      ///< driver memory close to where the system, or the allocator, sets its limit
  Fallback,       ///< an op that runs on the CPU, and that nobody accepted
  ChattyLogging,  ///< values are read, to be shown, at every step
  SyncPoint,      ///< another wait for the device that nobody planned
  HostBound,      ///< the device waits for the host: its batch, its ops, its logging
  MemoryGrowth,   ///< current memory grows from step to step
  ShapeGrowth,    ///< driver memory grows with each new shape
};
/// "near_limit", for programs; a scenario names its problem so.
[[nodiscard]] std::string_view findingKey(FindingKind kind);

/// A problem of a run, with what it costs and what to do about it.
struct Finding {
  FindingKind kind = FindingKind::SyncPoint;
  std::string title;     ///< what is wrong, in a line
  std::string evidence;  ///< where and how often
  std::string advice;    ///< what to do; "accept it" of a fallback: who shows it says how
  /// What findings are ranked by, 0 to 1: for a time the share of the step, for memory the share of
  /// the limit that is used or, for growth, would be by kGrowthHorizonSteps.
  double weight = 0;
  std::optional<double> costMs, costBytes;  ///< a step
  bool estimate = false;                    ///< not measured directly
  std::uint32_t firstStep = 0, lastStep = 0;
  std::uint64_t count = 0;       ///< of events; 0 where there are none to count
  std::vector<std::string> ops;  ///< the most expensive first
  std::string where;             ///< phase, module and call site of the most expensive one
};

/// An op that falls back, and may.
struct AcceptedFallback {
  std::string op;
  std::string reason;  ///< the user's, may be empty
  std::uint64_t count = 0;
  double costMs = 0;  ///< a step
};

struct Findings {
  /// Steps that were judged: all but the first, which compiles and allocates. 0 where there are too
  /// few to say anything.
  std::uint64_t steps = 0;
  /// The probe looked at nothing but steps and memory (ProbeLevel Off): what is not here was not
  /// looked for.
  bool unobserved = false;
  std::vector<Finding> found;  ///< the worst first
  std::vector<AcceptedFallback> accepted;
};

// What makes a finding. Each is a judgement, with its reason.

/// Steps below which nothing is said: the first ones are unlike the rest.
inline constexpr std::size_t kLeastJudgedSteps = 5;
/// The share of a step that a stall must cost: less is within what steps differ by anyway.
inline constexpr double kLeastStallShare = 0.01;
/// The loss counts as read at every step from this share of the steps on.
inline constexpr double kEveryStepShare = 0.9;
/// The share of a step that the device must starve by one cause (and batch assembly take): below a
/// fifth a loader on another thread gains little.
inline constexpr double kLeastStarvedShare = 0.2;
/// Below this step time a wait that counts as near zero may be more than a tenth of the step:
/// whether the device kept up with the host cannot be told.
inline constexpr double kLeastStarvedStepMs = 5;
/// What current must grow by in a step: 16 MiB in a thousand.
inline constexpr double kLeastGrowthBytes = 16.0 * 1024;
/// What driver must grow by with a new shape. A compiled graph of one op is some ten KiB, and a
/// step has hundreds of ops.
inline constexpr double kLeastShapeGrowthBytes = 256.0 * 1024;
/// How many shapes must have been seen to speak of a growth with them.
inline constexpr std::size_t kLeastShapes = 8;
/// From this share of the limit on, what another shape or another application takes may be too
/// much.
inline constexpr double kNearLimitShare = 0.9;
/// How far a growth is thought on to weigh it.
inline constexpr double kGrowthHorizonSteps = 1000;

/// Nothing of the run was observed: no phase, no wait, no fallback.
[[nodiscard]] bool isUnobserved(const LiveStore& store);

/// Judges a run, as far as it has come.
[[nodiscard]] Findings findProblems(const LiveStore& store);

}  // namespace highwater::analysis

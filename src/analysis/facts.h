#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/run_summary.h"

namespace highwater::analysis {

/// What a number counts: how it is written.
enum class Quantity {
  kCount,
  kMilliseconds,
  kPerSecond,
  kBytes,
  kBytesPerSecond,
  kShare,
  kPercent,
  kPlain
};

/// The part of a run that a number describes.
enum class FactGroup { kRun, kTime, kPhase, kMemory, kMachine };

/// Which change of a number is an improvement.
enum class Better { kLess, kMore, kNeither };

/// A statistic of the values of some steps.
enum class Statistic { kMean, kMedian, kP95 };

/// The numbers of one counted step, in ms, from which the noise of a fact is estimated.
struct StepNumbers {
  double ms = 0;      ///< its host time
  double tokens = 0;  ///< or samples, where these are what the store's rate counts
  /// What the throughput counts: 0 for the first step of the run, which compiles and allocates.
  double ratedMs = 0;  ///< with an equal share of the waits after the steps
  double ratedTokens = 0;
  double fallbackMs = 0, unplannedMs = 0, plannedMs = 0;
  double outsideMs = 0;             ///< below 0 where phases lie within each other
  std::array<double, 7> phaseMs{};  ///< indexed by events::Phase
};

/// A number that a user can read of a run or of a range of it: what each surface says of it.
/// Report, JSON, Selection, Compare and `highwater compare` are loops over facts(), or look one up.
struct Fact {
  std::string_view key;    ///< its path in the JSON report: "step_ms.p50"
  std::string_view label;  ///< on the screen: "Step p50"
  std::string_view brief;  ///< where there is less room: "p50"
  FactGroup group = FactGroup::kRun;
  Quantity quantity = Quantity::kCount;
  Better better = Better::kNeither;
  std::string_view help;  ///< what it counts, as a sentence
  /// The number; std::nullopt where it is not known.
  std::optional<double> (*value)(const LiveStore&, const RunSummary&) = nullptr;
  /// For a number that is a statistic of steps: what it takes of each. nullptr for one that is not,
  /// such as a peak, whose noise is not known.
  double (*ofStep)(const StepNumbers&) = nullptr;
  /// Where the number is a ratio of two sums: what is below. nullptr for a statistic of ofStep.
  double (*perStep)(const StepNumbers&) = nullptr;
  Statistic statistic = Statistic::kMean;
  events::Phase phase = events::Phase::None;  ///< of a number of one phase
};

/// All facts, in the order in which they are shown.
[[nodiscard]] std::span<const Fact> facts();

/// The fact of a key; nullptr if there is none.
[[nodiscard]] const Fact* findFact(std::string_view key);

/// The value of a fact as it is written everywhere: "12.3 ms", "20.5k", "1.20 GiB", "12 %".
[[nodiscard]] std::string factText(Quantity quantity, double value);

}  // namespace highwater::analysis

#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts.h"
#include "analysis/live_store.h"
#include "analysis/run_summary.h"

namespace highwater::analysis {

/// A number in two ranges or runs, with the noise of its change.
struct ComparedValue {
  double a = 0, b = 0;  ///< NaN where it is not known
  /// Half the width of the 95 % interval of b - a; NaN where it cannot be told: with fewer than
  /// kLeastComparedSteps steps, and for peaks.
  double noise = std::numeric_limits<double>::quiet_NaN();

  [[nodiscard]] double change() const { return b - a; }
  /// Whether the change is larger than chance explains. False where the noise is unknown.
  [[nodiscard]] bool beyondNoise() const;
};

/// A number that is known of one side at least.
struct ComparedFact {
  const Fact* fact = nullptr;
  ComparedValue value;

  /// Whether the change is more than chance explains. That of a number without steps, such as a
  /// peak, is taken as it is.
  [[nodiscard]] bool differs() const;
};

/// The waits of one kind, or the fallbacks, of one op at one place, in milliseconds a step.
struct ComparedOp {
  std::string op, where;  ///< as in OpTotal
  /// Of two runs: where it is in B, if its line has moved there; else empty.
  std::string movedTo;
  events::SyncKind kind = events::SyncKind::None;  ///< None for fallbacks
  bool planned = false;                            ///< all of these waits are
  ComparedValue ms;
};

/// Two ranges of a run, or two runs, side by side.
struct Comparison {
  RunSummary a, b;
  StepHistogram histogramA, histogramB;  ///< with the same bins
  std::vector<ComparedFact> facts;       ///< as of facts()
  double tokensA = 0, tokensB = 0;       ///< of a step, or samples: mean
  std::string sizesA, sizesB;  ///< of the batches: "16 × 64", "16 × 48–64"; empty if not known
  /// Their steps have as many tokens, within 1 % of the mean, so that step times compare. Else only
  /// the throughput does.
  bool sameTokens = true;
  std::vector<ComparedOp> ops;  ///< waits and fallbacks, the largest change first

  /// The fact of a key; nullptr where it is known of neither side.
  [[nodiscard]] const ComparedFact* find(std::string_view key) const;
  /// The values of a key; NaN where they are not known.
  [[nodiscard]] ComparedValue of(std::string_view key) const;
  /// Tokens or samples a second, whichever is known of both sides; nullptr without.
  [[nodiscard]] const ComparedFact* rate() const;
  /// The time of a step: its median, or the mean where that tells more (RunSummary::meanTells()).
  [[nodiscard]] const ComparedFact* time() const;
  /// What comparisonText() is about: time(), or rate() where the steps have different sizes.
  /// nullptr with too few steps, and where these have nothing in common.
  [[nodiscard]] const ComparedFact* headline() const;
};

/// The fewest steps of a range that tell how much its steps vary.
inline constexpr std::size_t kLeastComparedSteps = 5;

/// Compares the whole steps of two ranges. std::nullopt if one of them has none.
///
/// The noise is estimated by a moving block bootstrap (H. R. Künsch, The jackknife and the
/// bootstrap for general stationary observations, Annals of Statistics 17, 1989): both ranges are
/// resampled 400 times, each from blocks of n^(1/3) consecutive steps, because steps near each
/// other vary together. The noise is half the distance between the 2.5th and the 97.5th percentile
/// of the differences. Of a range with more than 3000 steps a resample has 3000, and the noise
/// shrinks by the root of the ratio. The same ranges always give the same numbers.
[[nodiscard]] std::optional<Comparison> compareRanges(const LiveStore& store, const TimeRange& a,
                                                      const TimeRange& b);

/// Compares two runs as compareRanges() does ranges, each as a whole: every number is that of the
/// run's own report. std::nullopt if one of them has no step. The noise is that of the steps within
/// the runs. What made one run as a whole slower than the other, such as other work on the machine,
/// is not in it.
[[nodiscard]] std::optional<Comparison> compareRuns(const LiveStore& a, const LiveStore& b);

/// What a comparison says of the step time in one sentence, or of the throughput where steps do not
/// compare: "The median step takes 11 % less time, beyond the noise, ± 1.60 ms".
[[nodiscard]] std::string comparisonText(const Comparison& compared);

/// Compares a statistic of two series of steps, as compareRanges() does. Percentiles are by nearest
/// rank, those of no values are 0.
[[nodiscard]] ComparedValue compareSeries(const std::vector<double>& a,
                                          const std::vector<double>& b, Statistic statistic);

}  // namespace highwater::analysis

#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"

namespace highwater::analysis {

/// A number in two ranges, with the noise of its change.
struct ComparedValue {
  double a = 0, b = 0;
  /// Half the width of the 95 % interval of b - a; NaN where it cannot be told: with fewer than
  /// kLeastComparedSteps steps, and for peaks.
  double noise = std::numeric_limits<double>::quiet_NaN();

  [[nodiscard]] double change() const { return b - a; }
  /// Whether the change is larger than chance explains. False where the noise is unknown.
  [[nodiscard]] bool beyondNoise() const;
};

/// The waits of one kind, or the fallbacks, of one op at one place, in milliseconds a step.
struct ComparedOp {
  std::string op, where;                           ///< as in OpTotal
  events::SyncKind kind = events::SyncKind::None;  ///< None for fallbacks
  bool planned = false;                            ///< all of these waits are
  ComparedValue ms;
};

/// Two ranges of a run side by side. Times are means of whole steps, unless named otherwise, so the
/// parts add up to the whole.
struct Comparison {
  RunSummary a, b;
  StepHistogram histogramA, histogramB;  ///< with the same bins
  ComparedValue stepMsP50, stepMsP95;
  ComparedValue tokensPerS;
  std::string rateUnit;  ///< what tokensPerS counts, as LiveStore::rateUnit()
  ComparedValue fallbackMs, unplannedSyncMs, plannedSyncMs;  ///< a step
  std::array<ComparedValue, 7> phaseMs;                      ///< a step, indexed by events::Phase
  ComparedValue outsideMs;                                   ///< a step, outside of all phases
  ComparedValue currentPeakBytes, driverPeakBytes;
  std::string sizesA, sizesB;  ///< of the batches: "16 × 64", "16 × 48–64"; empty if not known
  /// Their steps have as many tokens, within 1 % of the mean, so that step times compare. Else only
  /// tokensPerS does.
  bool sameTokens = true;
  std::vector<ComparedOp> ops;  ///< waits and fallbacks, the largest change first
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

/// A statistic of the values of some steps.
enum class Statistic { kMean, kMedian, kP95 };
/// Compares a statistic of two series of steps, as compareRanges() does. Percentiles are by nearest
/// rank, those of no values are 0.
[[nodiscard]] ComparedValue compareSeries(const std::vector<double>& a,
                                          const std::vector<double>& b, Statistic statistic);

}  // namespace highwater::analysis

#pragma once

#include <span>

#include "analysis/findings.h"

/// The rules behind findProblems(), for its sources only.
namespace highwater::analysis {

/// The steps that are judged. Precondition of the rules: there are at least kLeastJudgedSteps.
struct JudgedSteps {
  const LiveStore& store;
  std::size_t firstRow = 0;
  std::span<const events::StepRecord> records;
  double medianMs = 0;

  /// The judged step that an event of `step` lies in, by time too: an evaluation comes after its
  /// step. nullptr where there is none.
  [[nodiscard]] const events::StepRecord* holding(std::uint32_t step, std::int64_t beginNs) const;
  [[nodiscard]] double perStepMs(std::int64_t totalNs) const;
  /// A finding over all judged steps that costs time, weighed by it.
  [[nodiscard]] Finding ofTime(FindingKind kind, double costMs) const;
  /// Likewise for what costs memory.
  [[nodiscard]] Finding ofGrowth(FindingKind kind, double costBytes) const;
};

void judgeFallbacks(const JudgedSteps& steps, Findings& findings);
void judgeSyncPoints(const JudgedSteps& steps, Findings& findings);
void judgeHost(const JudgedSteps& steps, Findings& findings);
void judgeGrowth(const JudgedSteps& steps, Findings& findings);
void judgeShapes(const JudgedSteps& steps, Findings& findings);
void judgeLimit(const JudgedSteps& steps, Findings& findings);

/// "52.1 ms a step"
[[nodiscard]] std::string costText(double ms);

/// Of an even number the mean of the two in the middle; 0 without any.
[[nodiscard]] double medianOf(std::vector<double> values);

/// A line through points, robust against outliers: the median of the slopes of all pairs
/// (Theil, 1950; Sen, 1968). Of many points every n-th is taken.
struct Point {
  double x = 0, y = 0;
};
[[nodiscard]] double robustSlope(std::span<const Point> points);
/// The smallest of the robust slopes of all points and of either half: what grew once and then no
/// more has none.
[[nodiscard]] double steadySlope(std::span<const Point> points);

}  // namespace highwater::analysis

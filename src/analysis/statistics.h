#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace highwater::analysis {

/// Returns the median of the values: the mean of the two middle ones for an even number of them, 0
/// for none.
[[nodiscard]] double medianOf(std::vector<double> values);

/// Returns the percentile by nearest rank: the smallest value that at least `percent` % of the
/// values do not exceed. Reorders `values`. Precondition: not empty, percent <= 100.
[[nodiscard]] double percentileOf(std::vector<double>& values, std::size_t percent);

/// A point in the plane, for the slopes of series.
struct Point {
  double x = 0, y = 0;
};
/// Returns the slope of a line through points, robust against outliers: the median slope of all
/// pairs (Theil, 1950; Sen, 1968). Of more than 200 points only every n-th counts. 0 for fewer than
/// two.
[[nodiscard]] double robustSlope(std::span<const Point> points);
/// Returns by how many standard deviations of chance a series rises or, below 0, falls (the trend
/// test of H. B. Mann, 1945, with its correction for equal values). 0 for fewer than three values.
/// Quadratic.
[[nodiscard]] double trendScore(std::span<const double> values);
/// Returns the slope that a series has throughout: the smallest of the robust slopes of all points,
/// of the first half and of the second half. It is near 0 for a series that grew once and then
/// stayed.
[[nodiscard]] double steadySlope(std::span<const Point> points);
/// As steadySlope(), of what goes on rising: while a half of the points rises at less than a third
/// of the slope of the half before it, as where a buffer has been filled, the first one is left
/// out. 0 where fewer than `least` points are left.
[[nodiscard]] double lastingSlope(std::span<const Point> points, std::size_t least);

}  // namespace highwater::analysis

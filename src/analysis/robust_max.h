#pragma once

#include <cstddef>

#include "analysis/series_pyramid.h"

namespace highwater::analysis {

/// The value that a scale for [begin, end) of a series should hold, so that a few values far beyond
/// the others do not flatten them: the largest value, or the 99th percentile, at least the second
/// largest, where the largest is more than kFarBeyond times that. 0 without a number.
///
/// The percentile is exact up to some thousand values; of more it is that of a sample, which stays
/// the same while the range moves.
[[nodiscard]] double robustMax(const SeriesPyramid& series, std::size_t begin, std::size_t end);

/// How many times the 99th percentile a value must be to be left out of a scale.
inline constexpr double kFarBeyond = 2.5;

}  // namespace highwater::analysis

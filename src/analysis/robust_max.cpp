#include "analysis/robust_max.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace highwater::analysis {
namespace {

constexpr std::size_t kMostValues = 4096;
/// With fewer values the largest cannot be told from an outlier.
constexpr std::size_t kFewValues = 5;

/// One index of each group of `stride`, chosen by the group alone: a regular one could always meet
/// the same step of a pattern.
std::size_t sampleOf(std::size_t group, std::size_t stride) {
  const std::size_t mixed = (group + 1) * 0x9E3779B97F4A7C15ULL;
  return group * stride + (mixed >> 33) % stride;
}

}  // namespace

double robustMax(const SeriesPyramid& series, std::size_t begin, std::size_t end) {
  if (begin >= end) return 0;
  const double max = series.minMax(begin, end).max;
  if (std::isnan(max)) return 0;
  std::vector<double> values;
  const std::size_t stride = (end - begin + kMostValues - 1) / kMostValues;
  for (std::size_t group = begin / stride; group * stride < end; ++group) {
    const std::size_t i = stride == 1 ? group : sampleOf(group, stride);
    if (i >= begin && i < end && !std::isnan(series[i])) values.push_back(series[i]);
  }
  if (values.size() < kFewValues) return max;
  // Rounded down, so that at least one value lies beyond it.
  const auto rank = static_cast<std::ptrdiff_t>((values.size() - 1) * 99 / 100);
  const auto at = values.begin() + std::min(rank, static_cast<std::ptrdiff_t>(values.size()) - 2);
  std::nth_element(values.begin(), at, values.end());
  return max > *at * kFarBeyond && *at > 0 ? *at : max;
}

}  // namespace highwater::analysis

#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace highwater::analysis {
namespace {

constexpr std::size_t kMostSlopePoints = 200;  // 20,000 pairs

std::vector<Point> thinned(std::span<const Point> points) {
  const std::size_t every = points.size() / kMostSlopePoints + 1;
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size(); i += every) kept.push_back(points[i]);
  return kept;
}

}  // namespace

double medianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double percentileOf(std::vector<double>& values, std::size_t percent) {
  const std::size_t rank = std::max<std::size_t>((values.size() * percent + 99) / 100, 1) - 1;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

double robustSlope(std::span<const Point> points) {
  const std::vector<Point> kept = thinned(points);
  std::vector<double> slopes;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (std::size_t j = i + 1; j < kept.size(); ++j) {
      if (kept[i].x != kept[j].x) {
        slopes.push_back((kept[j].y - kept[i].y) / (kept[j].x - kept[i].x));
      }
    }
  }
  return medianOf(std::move(slopes));
}

double trendScore(std::span<const double> values) {
  if (values.size() < 3) return 0;
  double rises = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      rises += values[j] > values[i] ? 1 : values[j] < values[i] ? -1 : 0;
    }
  }
  const auto varianceOf = [](double n) { return n * (n - 1) * (2 * n + 5) / 18; };
  double variance = varianceOf(static_cast<double>(values.size()));
  std::map<double, double> equal;
  for (const double each : values) ++equal[each];
  for (const auto& [value, count] : equal) variance -= varianceOf(count);
  if (rises == 0 || variance <= 0) return 0;
  return (rises > 0 ? rises - 1 : rises + 1) / std::sqrt(variance);
}

double steadySlope(std::span<const Point> points) {
  const std::size_t half = points.size() / 2;
  return std::min(
      {robustSlope(points), robustSlope(points.first(half)), robustSlope(points.subspan(half))});
}

double lastingSlope(std::span<const Point> points, std::size_t least) {
  constexpr double kLevelledOff = 1.0 / 3;
  while (points.size() >= least) {
    const std::size_t half = points.size() / 2;
    if (robustSlope(points.subspan(half)) >= kLevelledOff * robustSlope(points.first(half))) {
      return steadySlope(points);
    }
    points = points.subspan(half);
  }
  return 0;
}

}  // namespace highwater::analysis

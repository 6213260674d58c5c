#include "analysis/memory_forecast.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr std::size_t kLeastPoints = 20, kMostForecastPoints = 200;
constexpr double kLongestSeconds = 24 * 3600;
/// 95 % of a normal distribution lie within so many standard deviations.
constexpr double kDeviations = 1.96;
/// Growth that goes on shows in both halves of the points.
constexpr double kSteady = 0.3;

/// The variance of Kendall's S for the points, with equal values taken into account.
double varianceOfRanks(std::span<const Point> points) {
  const auto term = [](double n) { return n * (n - 1) * (2 * n + 5); };
  std::map<double, double> equal;
  for (const Point& point : points) ++equal[point.y];
  double variance = term(static_cast<double>(points.size()));
  for (const auto& [value, count] : equal) variance -= term(count);
  return variance / 18;
}

/// The newest steps of the newest step's shape, oldest first, without the first step of the run.
std::vector<const events::StepRecord*> newestSteps(const LiveStore& store) {
  const auto& records = store.steps().records;
  std::vector<const events::StepRecord*> found;
  // Of a run with many shapes a few thousand steps are read, however rare the newest shape is.
  constexpr std::size_t kFarthest = 4000;
  const std::size_t last = records.size() > kFarthest ? records.size() - kFarthest : 1;
  for (std::size_t row = records.size(); row > last && found.size() < kMostForecastPoints; --row) {
    const events::StepRecord& record = records[row - 1];
    const bool same = record.batch_size() == records.back().batch_size() &&
                      record.sequence_length() == records.back().sequence_length();
    if (same && record.peak_current_bytes() > 0) found.push_back(&record);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// "40 s", "4 min", "2.5 h": the unit of the largest of them for all.
struct TimeUnit {
  double seconds = 1;
  const char* name = "s";
};
TimeUnit unitFor(double seconds) {
  if (seconds < 90) return {1, "s"};
  if (seconds < 90 * 60) return {60, "min"};
  return {3600, "h"};
}

std::string inUnit(double seconds, const TimeUnit& unit) {
  const double value = seconds / unit.seconds;
  return formatDecimals(value, value < 9.95 && unit.seconds > 60 ? 1 : 0);
}

}  // namespace

std::optional<Growth> significantGrowth(std::span<const Point> points) {
  if (points.size() < kLeastPoints) return std::nullopt;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      if (points[i].x != points[j].x) {
        slopes.push_back((points[j].y - points[i].y) / (points[j].x - points[i].x));
      }
    }
  }
  if (slopes.empty()) return std::nullopt;
  std::sort(slopes.begin(), slopes.end());
  const auto count = static_cast<double>(slopes.size());
  const double reach = kDeviations * std::sqrt(std::max(varianceOfRanks(points), 0.0));
  const auto at = [&](double rank) {
    return slopes[static_cast<std::size_t>(std::clamp(rank, 0.0, count - 1))];
  };
  const Growth growth{at(std::floor((count - reach) / 2)), medianOf(slopes),
                      at(std::ceil((count + reach) / 2))};
  if (growth.low <= 0 || steadySlope(points) < kSteady * growth.probable) return std::nullopt;
  return growth;
}

std::string MemoryForecast::text() const {
  const TimeUnit unit = unitFor(seconds);
  const std::string low = inUnit(lowSeconds, unit), high = inUnit(highSeconds, unit);
  const std::string bounds = low == high ? "" : " (" + low + "\u2013" + high + ")";
  return "about " + inUnit(seconds, unit) + ' ' + unit.name + bounds;
}

std::optional<MemoryForecast> forecastMemory(const LiveStore& store) {
  const SeriesPyramid& recommended = store.memory().recommended;
  if (store.end() || recommended.empty()) return std::nullopt;
  const double limit = recommended[recommended.size() - 1];
  const auto steps = newestSteps(store);
  std::vector<Point> points;
  for (const events::StepRecord* step : steps) {
    points.push_back(
        {static_cast<double>(step->step()), static_cast<double>(step->peak_current_bytes())});
  }
  const std::optional<Growth> growth = significantGrowth(points);
  if (!growth || limit <= 0) return std::nullopt;
  // The level of the line at the newest step, not the newest peak, which may be an outlier.
  std::vector<double> levels, stepSeconds;
  for (std::size_t i = 0; i < points.size(); ++i) {
    levels.push_back(points[i].y + growth->probable * (points.back().x - points[i].x));
    stepSeconds.push_back(static_cast<double>(steps[i]->duration_ns()) / kNsPerS);
  }
  const double left = limit - medianOf(std::move(levels));
  const double seconds = medianOf(std::move(stepSeconds));
  MemoryForecast forecast{left / growth->probable * seconds, left / growth->high * seconds,
                          left / growth->low * seconds, growth->probable};
  const bool soon = left > 0 && forecast.seconds <= kLongestSeconds;
  return soon ? std::optional(forecast) : std::nullopt;
}

}  // namespace highwater::analysis

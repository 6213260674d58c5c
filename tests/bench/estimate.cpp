#include "bench/estimate.h"

#include <algorithm>
#include <limits>
#include <random>

namespace highwater::bench {
namespace {

constexpr int kDraws = 10'000;
constexpr std::size_t kLeastSamples = 5;

}  // namespace

double medianOf(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Estimate estimate(std::vector<double> values, std::uint64_t seed) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {kNone, kNone, kNone, 0};
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::size_t> pick(0, values.size() - 1);
  std::vector<double> medians(kDraws);
  std::vector<double> drawn(values.size());
  for (double& median : medians) {
    for (double& value : drawn) value = values[pick(random)];
    median = medianOf(drawn);
  }
  std::sort(medians.begin(), medians.end());
  const std::size_t count = values.size();
  return {medianOf(values), medians[kDraws * 25 / 1000], medians[kDraws * 975 / 1000 - 1], count};
}

Verdict judge(const Estimate& estimate, double goal) {
  const bool crosses = estimate.low <= goal && goal < estimate.high;
  if (estimate.samples < kLeastSamples || crosses) return Verdict::Inconclusive;
  return estimate.median <= goal ? Verdict::Met : Verdict::Missed;
}

std::string nameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::Met:
      return "met";
    case Verdict::Missed:
      return "missed";
    case Verdict::Inconclusive:
      break;
  }
  return "inconclusive";
}

}  // namespace highwater::bench

#include "tuning/benchmark.h"

#include <algorithm>
#include <cmath>

#include "analysis/statistics.h"

namespace highwater::tuning {
namespace {

constexpr double kConfidence = 0.95;

Spread perCall(const std::vector<double>& totals, std::uint32_t calls) {
  std::vector<double> values;
  for (const double total : totals) values.push_back(total / std::max(calls, 1U));
  return spreadOf(std::move(values));
}

}  // namespace

std::string Benchmark::deviceName() const {
  return simulated ? "simulated MPS" : "MPS";
}

Spread spreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  Spread spread;
  spread.count = values.size();
  spread.median = analysis::medianOf(values);
  spread.lower = analysis::percentileOf(values, 25);
  spread.upper = analysis::percentileOf(values, 75);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  spread.least = *least;
  spread.most = *most;
  return spread;
}

Spread honestMs(const BenchmarkSide& side, std::uint32_t calls) {
  return perCall(side.doneMs, calls);
}

Spread naiveMs(const BenchmarkSide& side, std::uint32_t calls) {
  return perCall(side.submittedMs, calls);
}

double missedShare(const BenchmarkSide& side) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < std::min(side.doneMs.size(), side.submittedMs.size()); ++i) {
    if (side.doneMs[i] > 0) shares.push_back(1 - side.submittedMs[i] / side.doneMs[i]);
  }
  return std::clamp(analysis::medianOf(std::move(shares)), 0.0, 1.0);
}

Interval medianInterval(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size();
  const auto n = static_cast<double>(count);
  // The chance that at most `below` of n values lie below the true median is binomial.
  double chance = std::pow(0.5, n), tail = chance;
  std::size_t below = 0;
  while (2 * below + 3 < count) {
    const double k = static_cast<double>(below) + 1;
    const double next = chance * (n - k + 1) / k;
    if (1 - 2 * (tail + next) < kConfidence) break;
    chance = next;
    tail += next;
    ++below;
  }
  return {analysis::medianOf(values), values[below], values[count - 1 - below],
          std::max(0.0, 1 - 2 * tail)};
}

Interval cpuOverMps(const BenchmarkTiming& timing) {
  const auto& cpu = timing.cpu.doneMs;
  const auto& mps = timing.mps.doneMs;
  std::vector<double> ratios;
  for (std::size_t i = 0; i + 1 < std::min(cpu.size(), mps.size()); i += 2) {
    const double below = mps[i] + mps[i + 1];
    if (below > 0) ratios.push_back((cpu[i] + cpu[i + 1]) / below);
  }
  return medianInterval(std::move(ratios));
}

Faster fasterOf(const Interval& cpuOverMps) {
  if (cpuOverMps.coverage < kLeastCoverage) return Faster::kUnclear;
  if (cpuOverMps.low > 1) return Faster::kMps;
  if (cpuOverMps.high < 1 && cpuOverMps.median > 0) return Faster::kCpu;
  return Faster::kUnclear;
}

}  // namespace highwater::tuning

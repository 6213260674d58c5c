#include "bench/paired.h"

#include <time.h>

#include <algorithm>
#include <limits>
#include <random>

namespace highwater::bench {
namespace {

constexpr int kDraws = 10'000;
constexpr std::size_t kLeastSamples = 5;

double secondsOf(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

Cost measure(const std::function<void()>& block) {
  const double cpu = secondsOf(CLOCK_PROCESS_CPUTIME_ID);
  const double wall = secondsOf(CLOCK_MONOTONIC);
  block();
  return {secondsOf(CLOCK_MONOTONIC) - wall, secondsOf(CLOCK_PROCESS_CPUTIME_ID) - cpu};
}

template <typename F>
std::vector<double> ofEach(const std::vector<Quad>& quads, F&& ratio) {
  std::vector<double> ratios;
  for (const Quad& quad : quads) ratios.push_back(ratio(quad));
  return ratios;
}

}  // namespace

std::vector<Quad> runQuads(int quads, const std::function<void()>& a,
                           const std::function<void()>& b) {
  a();
  b();
  std::vector<Quad> measured;
  for (int i = 0; i < quads; ++i) {
    Quad quad;
    quad.a1 = measure(a);
    quad.b1 = measure(b);
    quad.b2 = measure(b);
    quad.a2 = measure(a);
    measured.push_back(quad);
  }
  return measured;
}

std::vector<double> wallRatios(const std::vector<Quad>& quads) {
  return ofEach(quads, [](const Quad& quad) {
    return (quad.a1.wall + quad.a2.wall) / (quad.b1.wall + quad.b2.wall);
  });
}

std::vector<double> cpuRatios(const std::vector<Quad>& quads) {
  return ofEach(quads, [](const Quad& quad) {
    return (quad.a1.cpu + quad.a2.cpu) / (quad.b1.cpu + quad.b2.cpu);
  });
}

std::vector<double> controlRatios(const std::vector<Quad>& quads) {
  return ofEach(quads, [](const Quad& quad) { return quad.b1.wall / quad.b2.wall; });
}

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

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Compares two workloads on a noisy machine. They run in blocks A B B A, so that a drift of the
// machine affects both alike. Each quad gives one ratio; its two B blocks are the A/A control.
namespace highwater::bench {

/// The cost of one block, in seconds.
struct Cost {
  double wall = 0;
  double cpu = 0;  ///< of the whole process, all threads
};

/// The four blocks A B B A.
struct Quad {
  Cost a1, b1, b2, a2;
};

/// Runs A B B A `quads` times, after one uncounted block of each as a warm-up.
[[nodiscard]] std::vector<Quad> runQuads(int quads, const std::function<void()>& a,
                                         const std::function<void()>& b);

[[nodiscard]] std::vector<double> wallRatios(const std::vector<Quad>& quads);
[[nodiscard]] std::vector<double> cpuRatios(const std::vector<Quad>& quads);
/// B against B of the same quad: a ratio of 1 that differs only by the machine's noise.
[[nodiscard]] std::vector<double> controlRatios(const std::vector<Quad>& quads);

/// The median of at least one value. Reorders `values`.
[[nodiscard]] double medianOf(std::vector<double>& values);

/// A median with its 95 % bootstrap interval (percentile method, 10 000 draws).
struct Estimate {
  double median = 0;
  double low = 0;
  double high = 0;
  std::size_t samples = 0;
};
/// All NaN if `values` is empty.
[[nodiscard]] Estimate estimate(std::vector<double> values, std::uint64_t seed = 1);

/// Compares the estimate with the goal, an upper limit.
enum class Verdict { Met, Missed, Inconclusive };
/// Inconclusive if the goal lies inside the interval, or if there are fewer than 5 samples.
[[nodiscard]] Verdict judge(const Estimate& estimate, double goal);
[[nodiscard]] std::string nameOf(Verdict verdict);

}  // namespace highwater::bench

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// How a bench compares two programs of work on a noisy machine: in blocks A B B A, so that a drift
// of the machine falls on both alike, by the ratio of each quad, and with the two B blocks of the
// same quad as the A/A control.
namespace highwater::bench {

/// What one block cost, in seconds.
struct Cost {
  double wall = 0;
  double cpu = 0;  ///< of the whole process, all threads
};

/// One A B B A.
struct Quad {
  Cost a1, b1, b2, a2;
};

/// Runs `quads` times A B B A, after one warm-up of each that is not counted.
[[nodiscard]] std::vector<Quad> runQuads(int quads, const std::function<void()>& a,
                                         const std::function<void()>& b);

[[nodiscard]] std::vector<double> wallRatios(const std::vector<Quad>& quads);
[[nodiscard]] std::vector<double> cpuRatios(const std::vector<Quad>& quads);
/// B against B of the same quad: what the machine's noise alone makes of a ratio of 1.
[[nodiscard]] std::vector<double> controlRatios(const std::vector<Quad>& quads);

/// Of at least one value, which come out in another order.
[[nodiscard]] double medianOf(std::vector<double>& values);

/// A median and the bootstrap interval that holds it with 95 % (percentile method, 10 000 draws).
struct Estimate {
  double median = 0;
  double low = 0;
  double high = 0;
  std::size_t samples = 0;
};
/// NaN throughout where `values` is empty.
[[nodiscard]] Estimate estimate(std::vector<double> values, std::uint64_t seed = 1);

/// The estimate against the most that the goal allows.
enum class Verdict { Met, Missed, Inconclusive };
/// Inconclusive where the goal lies inside the interval, or where there are too few samples for an
/// interval to mean anything (under 5).
[[nodiscard]] Verdict judge(const Estimate& estimate, double goal);
[[nodiscard]] std::string nameOf(Verdict verdict);

}  // namespace highwater::bench

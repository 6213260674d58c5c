#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace highwater::bench {

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

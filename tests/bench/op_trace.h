#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// One observer's trace of a thread's ops, and the comparison of two observers of the same ops.
namespace highwater::bench {

struct TracedOp {
  std::string name;
  std::int64_t beginNs = 0;  ///< by the observer's own clock
  std::int64_t durationNs = 0;
  std::uint32_t depth = 0;
  std::uint32_t children = 0;  ///< directly in it
};
/// The ops of one thread, by begin.
using OpTrace = std::vector<TracedOp>;

/// Sorts the ops by begin and computes depth and number of children of each from its times: an op
/// lies in the ops that began before it and have not ended.
void nestByTime(OpTrace& trace);

/// Describes the first op whose name or depth differs between the traces. Empty if none does.
[[nodiscard]] std::string firstDifference(const OpTrace& probe, const OpTrace& kineto);

/// Medians over all calls of one op, in ns, by two observers of the same calls.
struct OpMedians {
  std::string name;
  std::size_t calls = 0;
  double probeNs = 0;
  double kinetoNs = 0;
  double children = 0;
  double apartNs = 0;       ///< the probe's duration of a call less kineto's
  double beginApartNs = 0;  ///< kineto's begin of a call less the probe's, by two clocks

  [[nodiscard]] bool isLong() const { return kinetoNs >= 20'000; }
  /// How far the durations may differ: 5 % for an op of 20 us and more, otherwise 0.5 us × (1 +
  /// children).
  [[nodiscard]] double boundNs() const;
  /// apartNs over that bound, signed: from -1 to 1 if within it.
  [[nodiscard]] double excess() const;
};

/// Compares the ops by name, over all threads. Precondition: firstDifference() of each pair is
/// empty.
[[nodiscard]] std::vector<OpMedians> mediansByName(const std::vector<OpTrace>& probe,
                                                   const std::vector<OpTrace>& kineto);

}  // namespace highwater::bench

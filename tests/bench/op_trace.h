#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What an observer saw of one thread's ops, and how two observers of the same ops are compared.
namespace highwater::bench {

struct TracedOp {
  std::string name;
  std::int64_t beginNs = 0;  ///< by the observer's own clock
  std::int64_t durationNs = 0;
  std::uint32_t depth = 0;
  std::uint32_t children = 0;  ///< directly in it
};
/// Of one thread, in the order of their begin.
using OpTrace = std::vector<TracedOp>;

/// Puts the ops into their order; gives each the depth that its times say (it lies in what began
/// before it and has not ended) and its children.
void nestByTime(OpTrace& trace);

/// The first place where the traces differ in an op's name or depth, as a line for people; empty
/// where they are the same.
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
  /// How far they may lie apart: 5 % for an op of 20 us and more, else 0.5 us × (1 + children).
  [[nodiscard]] double boundNs() const;
  /// apartNs over that bound, with its sign: within it from -1 to 1.
  [[nodiscard]] double excess() const;
};

/// By name, over all threads. Precondition: no firstDifference() of any pair.
[[nodiscard]] std::vector<OpMedians> mediansByName(const std::vector<OpTrace>& probe,
                                                   const std::vector<OpTrace>& kineto);

}  // namespace highwater::bench

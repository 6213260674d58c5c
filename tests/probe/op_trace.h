#pragma once

#include <cstdint>
#include <string>
#include <vector>

// One observer's trace of a thread's ops, and the comparison of two observers of the same ops.
namespace highwater::test {

struct TracedOp {
  std::string name;
  std::int64_t beginNs = 0;  ///< by the observer's own clock
  std::int64_t durationNs = 0;
  std::uint32_t depth = 0;
};
/// The ops of one thread, by begin.
using OpTrace = std::vector<TracedOp>;

/// Sorts the ops by begin and computes the depth of each from its times: an op lies in the ops that
/// began before it and have not ended.
void nestByTime(OpTrace& trace);

/// Describes the first op whose name or depth differs between the traces. Empty if none does.
[[nodiscard]] std::string firstDifference(const OpTrace& probe, const OpTrace& kineto);

}  // namespace highwater::test

#pragma once

#include <cstdint>
#include <vector>

#include "analysis/live_store.h"
#include "tuning/tensor_budget.h"

namespace highwater::tuning {

/// The largest block, in bytes, that may be a value the host passes to a job. Such blocks are
/// allocated and freed at any time, so sums of frees are matched only to within this size.
inline constexpr std::uint64_t kHostValueBytes = 2048;

/// An allocation that an op made in a step. All sizes are as current allocated counted them.
struct TracedRequest {
  std::uint64_t op = 0;           ///< hash of the op's name, to compare the steps of two settings
  std::uint64_t bytes = 0;        ///< of the block that the allocator handed out
  std::uint64_t requested = 0;    ///< by the shape of the result; `bytes` where it is not known
  std::uint64_t freedBefore = 0;  ///< bytes freed since the request before it
  events::Phase phase = events::Phase::None;
  /// Sizes of the tensors that ops got as arguments since the request before it: a tensor is mostly
  /// freed after its last use.
  std::vector<std::uint64_t> arguments = {};
};

/// Consecutive steps at one setting as allocations, from ops recorded at ProbeLevel Ops.
struct StepTrace {
  Setting setting;
  bool fromStart = false;       ///< begins with the first step of the run
  std::uint64_t baseBytes = 0;  ///< current allocated before the first request
  std::vector<std::vector<TracedRequest>> steps;
};

/// Extracts the traces of a run, one for each setting of which two consecutive steps or more were
/// recorded with all their ops. Of the first setting they begin with the first step if possible.
///
/// An op that allocates and frees within itself shows only the sum of both, so its peak is missed.
[[nodiscard]] std::vector<StepTrace> tracesOf(const analysis::LiveStore& store);

}  // namespace highwater::tuning

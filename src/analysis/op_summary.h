#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// One op at ProbeLevel Ops, or one kind of node of backward, over the steps that were recorded.
struct OpShare {
  std::string op;
  std::uint64_t count = 0;
  /// Host time less that of the ops within it; waits for the device included.
  std::int64_t selfNs = 0;
};

/// What a module did to current allocated: what it allocated less what went back. A gradient is
/// allocated in its module's backward, and given back outside of all modules.
struct NetBytes {
  std::int64_t forward = 0;   ///< all but that:
  std::int64_t backward = 0;  ///< in nodes of backward
  /// What of forward's neither forward nor backward gave back.
  [[nodiscard]] std::int64_t kept() const { return forward + std::min<std::int64_t>(backward, 0); }
};

struct ModuleShare {
  std::string module;  ///< its path; empty for what is in none
  std::uint64_t count = 0;
  std::int64_t selfNs = 0;          ///< all ops
  std::int64_t backwardSelfNs = 0;  ///< of it in backward
  NetBytes net;
};

struct PhaseNet {
  events::Phase phase = events::Phase::None;
  std::int64_t inOps = 0;       ///< net, seen by its ops
  std::int64_t outsideOps = 0;  ///< seen at its end only: tensors that went out of scope
};

struct LargeTensor {
  /// What current grew by: more than the tensor where the allocator gave it a larger buffer that was
  /// free.
  std::uint64_t bytes = 0;
  std::string op;      ///< the outermost that made nothing else
  std::string shapes;  ///< of the op's arguments; may be empty
  std::string module;
  bool backward = false;
  std::uint32_t step = 0;  ///< the first that had it
};

struct OpSummary {
  std::uint64_t steps = 0;  ///< whose ops are counted
  std::uint64_t ops = 0;
  std::uint64_t forgotten = 0;        ///< older ops that the store no longer has, so not counted
  std::vector<OpShare> byOp;          ///< the longest self time first
  std::vector<ModuleShare> byModule;  ///< likewise
  std::vector<PhaseNet> byPhase;      ///< in the order of kPhases; those with ops only
  std::vector<LargeTensor> largest;   ///< kMostLargeTensors at most, the largest first
};
inline constexpr std::size_t kMostLargeTensors = 10;

/// Counts the ops of the steps whose ops were recorded: those between a step's begin and its end,
/// so none of an evaluation; without the run's first step where there are others, as that one
/// compiles and allocates; without steps that the store has forgotten ops of.
///
/// Memory: current is known when an op has returned. An increase from one op's end to the next is
/// the one's that ended; a decrease is the one's before, whose results or saved tensors went back
/// then. Threads take turns, so this goes by time over all of them. A tensor is what current grew
/// by in an op and not in the ops within it: views and ops in place are none.
///
/// `most`: of so many ops at most, the newest, and so of the last steps only.
[[nodiscard]] OpSummary summarizeOps(const LiveStore& store,
                                     std::size_t most = OpColumns::kMostOps);

}  // namespace highwater::analysis

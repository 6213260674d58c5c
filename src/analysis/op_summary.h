#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// All calls of one op, or of one kind of node of backward, in the steps whose ops were recorded.
struct OpShare {
  std::string op;
  std::uint64_t count = 0;
  /// Host time without that of nested ops, but with waits for the device.
  std::int64_t selfNs = 0;
};

/// How a module changed current allocated: bytes allocated minus bytes freed. A gradient is
/// allocated in its module's backward, and freed outside of all modules.
struct NetBytes {
  std::int64_t forward = 0;   ///< everything outside of backward
  std::int64_t backward = 0;  ///< in nodes of backward
  /// What forward allocated and neither forward nor backward freed.
  [[nodiscard]] std::int64_t kept() const { return forward + std::min<std::int64_t>(backward, 0); }
};

/// All ops of one module: number, host time in ns, and net bytes allocated.
struct ModuleShare {
  std::string module;  ///< its path; empty for ops outside of all modules
  std::uint64_t count = 0;
  std::int64_t selfNs = 0;          ///< of all its ops
  std::int64_t backwardSelfNs = 0;  ///< the part of it in backward
  NetBytes net;
};

/// How one phase changed the allocated memory: bytes allocated minus bytes freed.
struct PhaseNet {
  events::Phase phase = events::Phase::None;
  std::int64_t inOps = 0;       ///< net bytes, seen by its ops
  std::int64_t outsideOps = 0;  ///< net bytes seen only at its end: tensors that went out of scope
};

/// One of the largest allocations of a run: the op that made it, and its size in bytes.
struct LargeTensor {
  /// The growth of current allocated. More than the tensor's size if the allocator reused a larger
  /// free buffer.
  std::uint64_t bytes = 0;
  std::string op;      ///< the outermost op that allocated nothing else
  std::string shapes;  ///< of the op's arguments; may be empty
  std::string module;
  bool backward = false;
  std::uint32_t step = 0;  ///< the first step with it
};

/// The result of summarizeOps(): time and memory of the recorded ops by op, module and phase.
struct OpSummary {
  std::uint64_t steps = 0;  ///< steps whose ops are counted
  std::uint64_t ops = 0;
  std::uint64_t forgotten = 0;        ///< older ops that the store has dropped, so not counted
  std::vector<OpShare> byOp;          ///< longest self time first
  std::vector<ModuleShare> byModule;  ///< likewise
  std::vector<PhaseNet> byPhase;      ///< in the order of kPhases, only those with ops
  std::vector<LargeTensor> largest;   ///< at most kMostLargeTensors, largest first
};
/// The most entries of OpSummary::largest.
inline constexpr std::size_t kMostLargeTensors = 10;

/// Counts the recorded ops of all steps, by step: ops outside of a step, such as those of an
/// evaluation, do not count. The run's first step, which compiles and allocates, is left out if
/// there are others; so are steps of which the store has dropped ops.
///
/// Memory is read when an op returns. An increase between the ends of two ops belongs to the
/// second. A decrease belongs to the first, whose results or saved tensors were freed. Threads take
/// turns, so the order of time over all of them is used. A tensor is growth of current allocated in
/// an op but not in its nested ops; views and in-place ops allocate none.
///
/// `most` limits the ops that are looked at to the newest so many.
[[nodiscard]] OpSummary summarizeOps(const LiveStore& store,
                                     std::size_t most = OpColumns::kMostOps);

}  // namespace highwater::analysis

#pragma once

#include <string>
#include <vector>

#include "bench/op_trace.h"
#include "bench/worker_step.h"

namespace highwater::bench {

/// The same steps as two observers saw them at the same time; the threads in the order of their
/// first op.
struct BothTraces {
  std::vector<OpTrace> probe;
  std::vector<OpTrace> kineto;
  std::string problem;  ///< empty; why the traces cannot be compared, as of ops that were dropped
};

/// Runs `steps` steps under the probe at level ops, whose frames go to a file and are read back
/// from it, and at the same time under PyTorch's own profiler (kineto, CPU activities, no shapes).
///
/// Callbacks of the process (the probe's) run before those of a thread (kineto's), at an op's begin
/// and at its end: the probe's span of an op holds kineto's begin, kineto's holds the probe's end,
/// and both hold what both do around the ops inside.
[[nodiscard]] BothTraces recordWithBoth(ClassifierStep& step, const DeviceReport& device,
                                        int steps);

/// The first difference of any thread; empty where both saw the same ops, in the same order and
/// nested alike.
[[nodiscard]] std::string firstDifference(const BothTraces& traces);

}  // namespace highwater::bench

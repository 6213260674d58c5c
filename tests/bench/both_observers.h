#pragma once

#include <string>
#include <vector>

#include "bench/op_trace.h"
#include "bench/worker_step.h"

namespace highwater::bench {

/// The traces of two observers that watched the same steps at the same time. Threads are in the
/// order of their first op.
struct BothTraces {
  std::vector<OpTrace> probe;
  std::vector<OpTrace> kineto;
  std::string
      problem;  ///< why the traces cannot be compared (ops were dropped, say); empty if they can
};

/// Runs `steps` steps, observed by the probe at level ops and at the same time by PyTorch's own
/// profiler (kineto, CPU activities, no shapes). The probe's frames go to a file and are read back
/// from it.
///   Callbacks of the process (the probe's) run before those of a thread (kineto's), at an op's
/// begin and at its end. So the probe's span of an op contains kineto's begin callback, kineto's
/// span the probe's end callback, and both contain the callbacks of the ops inside.
[[nodiscard]] BothTraces recordWithBoth(ClassifierStep& step, const DeviceReport& device,
                                        int steps);

/// Describes the first difference in any thread. Empty if both saw the same ops, in the same order
/// and nesting.
[[nodiscard]] std::string firstDifference(const BothTraces& traces);

}  // namespace highwater::bench

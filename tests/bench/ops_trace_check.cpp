// Trains the classifier on the simulated device for 20 steps, observed by the probe at level ops
// and by kineto. Both must see the same ops on each thread, in the same order and nesting.
// tests/bench/run ops_trace compares the times. A process of its own, because torch's headers do
// not compile together with Qt's.

#include <cstdio>

#include "bench/both_observers.h"
#include "process/device.h"
#include "worker/options.h"

using namespace highwater;

namespace {

constexpr int kSteps = 20;
constexpr int kWarmUpSteps = 2;

int compare(const DeviceReport& device) {
  const worker::ModelSize size{"small", 64, 2, 4, 64};
  bench::ClassifierStep step(size, {8, 32}, bench::torchDevice(device));
  (void)bench::recordWithBoth(step, device, kWarmUpSteps);
  const bench::BothTraces traces = bench::recordWithBoth(step, device, kSteps);
  const std::string difference = traces.problem.empty() ? firstDifference(traces) : traces.problem;
  for (const bench::OpTrace& thread : traces.probe) {
    std::uint32_t deepest = 0;
    for (const bench::TracedOp& op : thread) deepest = std::max(deepest, op.depth);
    std::printf("%zu ops, %u deep\n", thread.size(), deepest);
    // Forward and optimizer on one thread, backward on the other: hundreds of ops a step each.
    if (thread.size() < std::size_t{100} * kSteps || deepest < 2) {
      std::puts("too few for 20 steps of training");
      return 1;
    }
  }
  if (traces.probe.size() != 2) std::printf("%zu threads, not 2\n", traces.probe.size());
  if (!difference.empty()) std::printf("%s\n", difference.c_str());
  return difference.empty() && traces.probe.size() == 2 ? 0 : 1;
}

}  // namespace

int main() {
  const auto device = process::chooseDevice("sim");
  if (!device) {
    std::fprintf(stderr, "ops_trace_check: %s\n", device.error().message.c_str());
    return 1;
  }
  try {
    return compare(*device);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ops_trace_check: %s\n", error.what());
    return 1;
  }
}

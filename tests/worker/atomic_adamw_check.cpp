// AtomicAdamW against PyTorch's AdamW, and with memory that runs out at each of its allocations.
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "check.h"
#include "core/sim_knobs.h"
#include "process/device.h"
#include "worker/training/atomic_adamw.h"
#include "worker/training/training_errors.h"

using namespace highwater;
using namespace highwater::worker;
using test::check;

namespace {

constexpr int kSteps = 4;

using Tensors = std::vector<torch::Tensor>;

/// Parameters of different sizes and strides, one without a gradient.
Tensors someParameters() {
  torch::manual_seed(3);
  Tensors all = {torch::randn({40, 30}), torch::randn({7}),
                 torch::randn({4, 3, 5, 5}).contiguous(torch::MemoryFormat::ChannelsLast),
                 torch::randn({30, 40}).t(), torch::randn({2, 2})};
  for (torch::Tensor& each : all) each.requires_grad_();
  return all;
}

/// Gives all parameters but the last the gradient of step `step`.
void setGradients(Tensors& parameters, int step) {
  torch::manual_seed(100 + step);
  for (std::size_t i = 0; i + 1 < parameters.size(); ++i) {
    const torch::Tensor gradient = torch::randn(parameters[i].sizes());
    parameters[i].mutable_grad() = gradient.to(parameters[i].device());
  }
}

bool areEqual(const Tensors& a, const Tensors& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!torch::equal(a[i].detach().cpu(), b[i].detach().cpu())) return false;
  }
  return true;
}

Tensors copyOf(const Tensors& all) {
  Tensors copy;
  for (const torch::Tensor& each : all) copy.push_back(each.detach().cpu().clone());
  return copy;
}

template <typename Optimizer, typename Options>
Tensors trainedBy(const Options& options, int steps = kSteps) {
  Tensors parameters = someParameters();
  Optimizer optimizer(parameters, options);
  for (int step = 0; step < steps; ++step) {
    setGradients(parameters, step);
    optimizer.step();
  }
  return copyOf(parameters);
}

void equalsPyTorch() {
  const auto decayed = torch::optim::AdamWOptions(1e-2).weight_decay(0.1);
  check(areEqual(trainedBy<AtomicAdamW>(decayed), trainedBy<torch::optim::AdamW>(decayed)),
        "the parameters of AdamW, to the bit");
}

enum Outcome { kNoRefusal = 0, kRefusedInAStep = 1, kWrong = 2 };

/// Trains on the simulated device, which refuses its allocation `refused`.
Outcome trainWithRefusal(int refused) {
  ::setenv(kSimOutOfMemoryAtVariable, std::to_string(refused).c_str(), 1);
  if (!process::chooseDevice("sim")) return kWrong;
  const auto options = torch::optim::AdamWOptions(1e-2).weight_decay(0.1);
  const Tensors expected = trainedBy<AtomicAdamW>(options);
  bool refusedInAStep = false;
  try {
    Tensors parameters;
    for (const torch::Tensor& each : someParameters()) {
      // Not to(): it would need memory for the strides.
      parameters.push_back(each.detach().to("mps").requires_grad_());
    }
    AtomicAdamW optimizer(parameters, options);
    for (int step = 0; step < kSteps; ++step) {
      setGradients(parameters, step);
      const Tensors before = copyOf(parameters);
      try {
        optimizer.step();
      } catch (const std::exception& error) {
        if (!refusedAllocation(error) || optimizer.isMidway()) return kWrong;
        if (!areEqual(parameters, before)) return kWrong;
        refusedInAStep = true;
        optimizer.step();
      }
    }
    if (!areEqual(parameters, expected)) return kWrong;
  } catch (const std::exception& error) {
    // Refused outside of a step.
    return refusedAllocation(error) && !refusedInAStep ? kNoRefusal : kWrong;
  }
  return refusedInAStep ? kRefusedInAStep : kNoRefusal;
}

void changesAllOrNothing() {
  // Two tensors of state for each of four parameters, and scratch in each step.
  constexpr int kAllocations = 2 * 4 + kSteps;
  int refusals = 0;
  for (int refused = 1; refused <= 80; ++refused) {
    // A process each, since the device reads its settings once, and must be loaded before
    // PyTorch is used.
    const pid_t child = ::fork();
    if (child == 0) {
      const Outcome outcome = trainWithRefusal(refused);
      process::finishSimulatedDevice();
      ::_exit(outcome);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool fine = WIFEXITED(status) && WEXITSTATUS(status) != kWrong;
    const std::string what = "all or nothing with allocation " + std::to_string(refused);
    check(fine, what.c_str());
    refusals += fine && WEXITSTATUS(status) == kRefusedInAStep;
  }
  check(refusals == kAllocations,
        ("each allocation of the steps was refused once, not " + std::to_string(refusals)).c_str());
}

}  // namespace

void test::checkAtomicAdamw() {
  at::set_num_threads(1);
  changesAllOrNothing();
  equalsPyTorch();
}

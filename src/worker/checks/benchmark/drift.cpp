#include "worker/checks/benchmark/drift.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/knobs.h"
#include "worker/checks/benchmark/error_sums.h"
#include "worker/checks/benchmark/training_step.h"
#include "worker/training/module_run.h"
#include "worker/training/training_errors.h"

namespace highwater::worker {

using Json = nlohmann::ordered_json;

namespace {

/// What a step on the CPU has computed.
struct Computed {
  std::vector<std::pair<std::string, torch::Tensor>> outputs;    ///< in the order of the calls
  std::vector<std::pair<std::string, torch::Tensor>> gradients;  ///< by module
};

std::string moduleOf(const std::string& parameter) {
  const auto dot = parameter.rfind('.');
  return dot == std::string::npos ? std::string() : parameter.substr(0, dot);
}

/// Computes loss and gradients, and passes on the outputs of the modules.
double compute(TrainingStep& step, ModuleOutputs::Receiver receiver) {
  step.workload().optimizer().zero_grad();
  step.take();
  const ModuleOutputs outputs(std::move(receiver));
  torch::Tensor loss = step.loss();
  step.workload().backward(loss);
  return loss.item<double>();
}

/// The gradients of each module's parameters, in one row: relative errors are then of the module's
/// gradients. Alone, the bias of an attention's keys has a gradient of rounding errors only,
/// because softmax cancels it. Parameters that took no part have zeros.
std::vector<std::pair<std::string, torch::Tensor>> gradientsOf(Workload& workload) {
  std::vector<std::pair<std::string, std::vector<torch::Tensor>>> modules;
  for (const auto& [name, parameter] : workload.namedParameters()) {
    const std::string module = moduleOf(name);
    const auto found = std::find_if(modules.begin(), modules.end(),
                                    [&](const auto& each) { return each.first == module; });
    auto& parts = found != modules.end()
                      ? found->second
                      : modules.emplace_back(module, std::vector<torch::Tensor>()).second;
    const torch::Tensor& gradient = parameter.grad();
    parts.push_back((gradient.defined() ? gradient : torch::zeros_like(parameter)).flatten());
  }
  std::vector<std::pair<std::string, torch::Tensor>> rows;
  for (const auto& [module, parts] : modules) rows.emplace_back(module, torch::cat(parts));
  return rows;
}

void copyWeights(TrainingStep& from, TrainingStep& to) {
  const torch::NoGradGuard noGrad;
  const auto source = from.workload().parameters();
  auto target = to.workload().parameters();
  for (std::size_t i = 0; i < source.size(); ++i) target.at(i).copy_(source[i]);
}

void checkSameBatch(TrainingStep& cpu, TrainingStep& other) {
  const auto first = cpu.workload().batch(), second = other.workload().batch();
  bool isSame = first.size() == second.size();
  for (std::size_t i = 0; isSame && i < first.size(); ++i) {
    isSame = first[i].equal(second[i].to(torch::kCPU).to(first[i].scalar_type()));
  }
  if (!isSame) throw std::runtime_error("the devices got different batches to compare");
}

/// Computes a batch on another device, or in float64, and adds how far it is from the CPU's:
/// `other` is `actual`, or what was expected.
class Comparison {
 public:
  enum class Expected { kCpu, kOther };

  Comparison(TrainingStep& step, Expected expected) : step_(step), expected_(expected) {}

  /// Returns the loss of the next batch, of which `cpu`, a step on the CPU, has computed
  /// `computed`.
  double add(TrainingStep& cpu, const Computed& computed) {
    std::size_t next = 0;
    const double loss = compute(step_, [&](const std::string& module, const torch::Tensor& output) {
      if (next >= computed.outputs.size() || computed.outputs[next].first != module) {
        throw std::runtime_error("the devices ran different modules");
      }
      add(outputs, module, computed.outputs[next++].second, output);
    });
    std::size_t row = 0;
    for (const auto& [module, gradient] : gradientsOf(step_.workload())) {
      add(gradients, module, computed.gradients.at(row++).second, gradient);
    }
    checkSameBatch(cpu, step_);
    return loss;
  }

  ModuleErrors outputs, gradients;

 private:
  void add(ModuleErrors& errors, const std::string& module, const torch::Tensor& cpu,
           const torch::Tensor& other) const {
    if (expected_ == Expected::kCpu) {
      errors.of(module).add(cpu, other);
    } else {
      errors.of(module).add(other, cpu);
    }
  }

  TrainingStep& step_;
  Expected expected_;
};

double computeOnCpu(TrainingStep& step, Computed& computed) {
  computed = {};
  const double loss = compute(step, [&](const std::string& module, const torch::Tensor& output) {
    computed.outputs.emplace_back(module, output.detach());
  });
  computed.gradients = gradientsOf(step.workload());
  return loss;
}

Json modulesJson(const ModuleErrors& mps, const ModuleErrors* rounding) {
  Json all = Json::array();
  for (const auto& [module, errors] : mps.all()) {
    const ErrorSums* own = rounding ? rounding->find(module) : nullptr;
    all.push_back({{"module", module},
                   {"mps", errors.json()},
                   {"rounding", own ? own->json() : Json(nullptr)}});
  }
  return all;
}

/// The model in float64; the reason where it cannot be computed so.
struct Reference {
  std::optional<TrainingStep> step;
  std::string problem;
};

void makeReference(const TrainingSetup& setup, TrainingStep& cpu, Reference& reference) {
  try {
    reference.step.emplace(setup, "cpu", Precision::kFloat32);
    copyWeights(cpu, *reference.step);
    reference.step->workload().useFloat64();
    (void)compute(*reference.step, [](const std::string&, const torch::Tensor&) {});
    reference.step->workload().dropStep();  // the batch is computed again
  } catch (const std::exception& error) {
    reference.step.reset();
    reference.problem = firstLine(error);
  }
}

}  // namespace

Json measureDrift(const TrainingSetup& setup, Precision cpuPrecision, Precision mpsPrecision,
                  const std::function<void(std::uint32_t)>& progress) {
  std::uint32_t done = 0;
  progress(done);
  TrainingStep cpu(setup, "cpu", cpuPrecision);
  TrainingStep mps(setup, "mps", mpsPrecision);
  copyWeights(cpu, mps);
  Reference reference;
  makeReference(setup, cpu, reference);
  Comparison onMps(mps, Comparison::Expected::kCpu);
  std::optional<Comparison> inFloat64;
  if (reference.step) inFloat64.emplace(*reference.step, Comparison::Expected::kOther);
  Json losses = Json::array();
  Computed computed;
  for (std::uint32_t batch = 0; batch < kDriftBatches; ++batch) {
    progress(done++);
    Json loss = {{"cpu", computeOnCpu(cpu, computed)}};
    progress(done++);
    loss["mps"] = onMps.add(cpu, computed);
    progress(done++);
    loss["float64"] = inFloat64 ? Json(inFloat64->add(cpu, computed)) : Json(nullptr);
    losses.push_back(std::move(loss));
  }
  return {{"cpu_precision", precisionName(cpuPrecision)},
          {"mps_precision", precisionName(mpsPrecision)},
          {"no_float64", reference.problem},
          {"loss", std::move(losses)},
          {"outputs", modulesJson(onMps.outputs, inFloat64 ? &inFloat64->outputs : nullptr)},
          {"gradients", modulesJson(onMps.gradients, inFloat64 ? &inFloat64->gradients : nullptr)}};
}

}  // namespace highwater::worker

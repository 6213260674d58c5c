#include "worker/checks/benchmark/training_step.h"

#include <stdexcept>

#include "core/knobs.h"
#include "worker/training/autocast_scope.h"
#include "worker/training/classifier.h"

namespace highwater::worker {

torch::ScalarType scalarType(Precision precision) {
  if (precision == Precision::kBFloat16) return torch::kBFloat16;
  return precision == Precision::kFloat16 ? torch::kFloat16 : torch::kFloat32;
}

TrainingStep::TrainingStep(const TrainingSetup& setup, const std::string& device,
                           Precision precision)
    : setup_(setup), device_(device == "cpu" ? device : device + ":0"), precision_(precision) {
  DeviceReport report = setup.device;
  report.selected = device;
  if (const std::string why = whyNoPrecision(report, precision); !why.empty()) {
    throw std::runtime_error("no " + std::string(precisionName(precision)) + ": " + why);
  }
  workload_ = makeClassifier(setup, device_);
}

void TrainingStep::train() {
  Knobs knobs = setup_.sizes.knobs;
  knobs.sequenceLength = workload_->beginStep(knobs.sequenceLength);
  for (std::uint32_t round = 0; round < knobs.accumulation; ++round) {
    workload_->assemble(knobs);
    workload_->moveToDevice();
    torch::Tensor loss = this->loss();
    if (knobs.accumulation > 1) loss = loss / static_cast<double>(knobs.accumulation);
    if (round == 0) workload_->optimizer().zero_grad();
    workload_->backward(loss);
  }
  workload_->optimizer().step();
  workload_->endStep();
}

void TrainingStep::take() {
  workload_->endStep();
  Knobs knobs = setup_.sizes.knobs;
  knobs.sequenceLength = workload_->beginStep(knobs.sequenceLength);
  workload_->useEvaluationMode();
  workload_->assemble(knobs);
  workload_->moveToDevice();
}

torch::Tensor TrainingStep::loss() {
  const AutocastScope autocast(device_, precision_);
  return workload_->loss();
}

}  // namespace highwater::worker

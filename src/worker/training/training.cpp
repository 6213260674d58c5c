#include "worker/training/training.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <utility>

#include "core/names.h"
#include "probe/observer/deliberate_scope.h"
#include "probe/readings/cuda_device.h"
#include "probe/readings/device_span_meter.h"
#include "probe/readings/mps_device.h"
#include "probe/readings/peak_meter.h"
#include "probe/readings/phase_scope.h"
#include "worker/checks/dry_check.h"
#include "worker/training/classifier.h"
#include "worker/training/torchscript.h"
#include "worker/training/training_errors.h"
#include "worker/training/workload.h"

namespace highwater::worker {
namespace {

/// The error's message, with advice for an op without an MPS kernel.
std::string textWithAdvice(const std::exception& error, const Options& options) {
  if (!isMissingOp(error) || fallbackAllowed()) return firstLine(error);
  const std::string scenario = options.scenario.empty() ? "" : " --scenario " + options.scenario;
  return missingOpText(error, "--workload " + options.workload + scenario);
}

class TrainingLoop final : public Training {
 public:
  TrainingLoop(TrainingSetup setup, Instruments instruments);

  RunDescription description() const override;
  Outcome run(process::RunControl& control) override;

 private:
  void boundary(const process::NextAction& action);
  void trainStep(const process::NextAction& action);
  void checkContract();
  [[nodiscard]] bool readsLoss(const process::NextAction& action) const;
  void recordStep(std::uint32_t step, const Knobs& knobs, std::int64_t beginNs,
                  std::optional<float> loss);
  void evaluate(std::uint32_t step, std::uint32_t sequenceLength);
  [[nodiscard]] Failure failureOf(const std::exception& error);
  [[nodiscard]] probe::PhaseScope phase(events::Phase which) {
    return probe::PhaseScope(recorder_, counters_, which, peaks_ ? &*peaks_ : nullptr);
  }

  TrainingSetup setup_;
  probe::Recorder& recorder_;
  probe::CounterSource* counters_;
  std::unique_ptr<probe::PeakSource> peakSource_;
  std::optional<probe::PeakMeter> peaks_;
  std::optional<probe::DeviceSpanMeter> deviceSpans_;
  std::function<void()> onStepEnd_;
  torch::Device device_;
  std::unique_ptr<Workload> workload_;
  bool contractChecked_ = false;
  std::uint32_t stepsDone_ = 0;
  std::uint32_t lastEvaluated_ = 0;
};

TrainingLoop::TrainingLoop(TrainingSetup setup, Instruments instruments)
    : setup_(std::move(setup)),
      recorder_(*instruments.recorder),
      counters_(instruments.counters),
      onStepEnd_(std::move(instruments.onStepEnd)),
      device_(setup_.device.selected == "cpu" ? "cpu" : setup_.device.selected + ":0") {
  if (counters_) {
    peakSource_ = probe::makeMpsPeaks();
    peaks_.emplace(recorder_, *peakSource_);
  }
  if (instruments.events) deviceSpans_.emplace(recorder_, *instruments.events);
  recorder_.setLevel(setup_.options->probeLevel);
  workload_ = setup_.model ? makeTorchScript(setup_, device_) : makeClassifier(setup_, device_);
}

RunDescription TrainingLoop::description() const {
  const Options& options = *setup_.options;
  RunDescription run;
  run.workload = options.workload;
  run.dtype = "float32";
  workload_->describe(run);
  for (const torch::Tensor& parameter : workload_->parameters()) {
    run.parameters += static_cast<std::uint64_t>(parameter.numel());
  }
  run.knobs = setup_.sizes.knobs;
  run.maxBatchSize = kMostBatchSize;
  run.maxSequenceLength = setup_.sizes.model.maxSequenceLength;
  run.plannedSteps = options.steps;
  run.scenario = options.scenario;
  run.probeLevel = options.probeLevel;
  return run;
}

Training::Outcome TrainingLoop::run(process::RunControl& control) {
  Outcome outcome;
  Knobs knobs = control.knobs();
  try {
    while (true) {
      const process::NextAction action = control.next();
      if (action.kind == process::NextAction::Kind::kStop) break;
      if (action.kind != process::NextAction::Kind::kStep) {
        boundary(action);
        continue;
      }
      knobs = action.knobs;
      trainStep(action);
      stepsDone_ = action.step;
      const std::uint32_t every = setup_.options->evalEvery;
      if (every > 0 && stepsDone_ % every == 0) evaluate(stepsDone_, knobs.sequenceLength);
    }
    const bool wanted = stepsDone_ > 0 && lastEvaluated_ != stepsDone_ && !control.isHostGone();
    if (wanted) evaluate(stepsDone_, knobs.sequenceLength);
  } catch (const ContractViolation& violation) {
    outcome.failure = Failure{Failure::Kind::kDeviceContract, violation.message};
  } catch (const std::exception& error) {
    outcome.failure = failureOf(error);
  }
  outcome.stepsDone = stepsDone_;
  outcome.stoppedOnRequest = control.stopRequested();
  return outcome;
}

Failure TrainingLoop::failureOf(const std::exception& error) {
  const std::string message = textWithAdvice(error, *setup_.options);
  if (!isOutOfMemory(error)) {
    return {Failure::Kind::kFailed,
            "step " + std::to_string(recorder_.step()) + " failed: " + message};
  }
  recorder_.mark(events::MarkerKind::OutOfMemory, recorder_.step(), 0, 0, message);
  return {Failure::Kind::kOutOfMemory, message};
}

void TrainingLoop::boundary(const process::NextAction& action) {
  switch (action.kind) {
    case process::NextAction::Kind::kPaused:
      recorder_.setPaused(true);
      recorder_.mark(events::MarkerKind::Paused, action.step);
      break;
    case process::NextAction::Kind::kResumed:
      recorder_.setPaused(false);
      recorder_.mark(events::MarkerKind::Resumed, action.step);
      break;
    case process::NextAction::Kind::kEmptyCache: {
      const auto cached = [this] {
        const auto counters = counters_ ? counters_->read() : std::nullopt;
        return counters ? static_cast<double>(counters->driverBytes) : 0.0;
      };
      const double before = cached();
      if (device_.is_cuda()) probe::emptyCudaCache();
      if (device_.is_mps()) probe::emptyDeviceCache();
      recorder_.mark(events::MarkerKind::CacheEmptied, action.step, before, cached());
      break;
    }
    default:
      break;
  }
}

void TrainingLoop::trainStep(const process::NextAction& action) {
  recorder_.setStep(action.step);
  for (const process::KnobChange& change : action.changes) {
    recorder_.mark(change.kind, action.step, change.before, change.after);
  }
  if (action.probeLevel != recorder_.level()) {
    recorder_.mark(events::MarkerKind::ProbeLevel, action.step,
                   static_cast<double>(recorder_.level()), static_cast<double>(action.probeLevel));
    recorder_.setLevel(action.probeLevel);
  }
  recorder_.resetSeenPeaks();
  if (peaks_) peaks_->beginStep();
  const std::int64_t beginNs = recorder_.now();
  Knobs knobs = action.knobs;
  knobs.sequenceLength = workload_->beginStep(knobs.sequenceLength);
  {
    const auto scope = phase(events::Phase::BatchAssembly);
    workload_->assemble(knobs);
  }
  {
    const auto scope = phase(events::Phase::DeviceMove);
    workload_->moveToDevice();
  }
  checkContract();
  if (deviceSpans_) {
    // The move to the device has waited for it: the previous step is over on the device too.
    deviceSpans_->readWhereIdle();
    deviceSpans_->beginStep(action.step);
  }
  torch::Tensor loss;
  {
    const auto scope = phase(events::Phase::Forward);
    loss = workload_->loss();
  }
  std::optional<float> lossValue;
  if (readsLoss(action) || workload_->logs()) {
    const auto scope = phase(events::Phase::LossRead);
    if (readsLoss(action)) lossValue = loss.item<float>();
    if (workload_->logs()) workload_->log(action.step);
  }
  {
    const auto scope = phase(events::Phase::Backward);
    workload_->optimizer().zero_grad();
    workload_->backward(loss);
  }
  {
    const auto scope = phase(events::Phase::OptimizerStep);
    workload_->optimizer().step();
  }
  if (deviceSpans_) deviceSpans_->endStep();
  recordStep(action.step, knobs, beginNs, lossValue);
  if (onStepEnd_) onStepEnd_();
  workload_->endStep();
}

void TrainingLoop::checkContract() {
  if (contractChecked_) return;
  const torch::Device model = workload_->parameters().front().device();
  for (const torch::Tensor& tensor : workload_->batch()) {
    if (tensor.device().type() == model.type()) continue;
    throw ContractViolation{"batch device " + deviceName(tensor.device()) +
                            " does not match model device " + deviceName(model)};
  }
  contractChecked_ = true;
}

bool TrainingLoop::readsLoss(const process::NextAction& action) const {
  return action.step == 1 || action.step == setup_.options->steps ||
         action.step % action.knobs.lossEvery == 0;
}

void TrainingLoop::recordStep(std::uint32_t step, const Knobs& knobs, std::int64_t beginNs,
                              std::optional<float> loss) {
  const auto exact = peaks_ ? peaks_->endStep() : std::nullopt;
  const std::uint64_t current = exact.value_or(recorder_.seenPeakCurrent());
  recorder_.record([&](std::int64_t nowNs) {
    return events::StepRecord(
        beginNs, nowNs - beginNs, current, recorder_.seenPeakDriver(), -1, step, knobs.batchSize,
        knobs.sequenceLength, knobs.batchSize * knobs.sequenceLength,
        loss.value_or(std::numeric_limits<float>::quiet_NaN()),
        static_cast<std::uint8_t>(loss.has_value()), static_cast<std::uint8_t>(exact.has_value()));
  });
}

void TrainingLoop::evaluate(std::uint32_t step, std::uint32_t sequenceLength) {
  if (!workload_->canEvaluate()) return;
  const torch::NoGradGuard noGrad;
  const probe::DeliberateScope scope(recorder_, kEvaluationSpan);
  const Workload::Score score =
      workload_->evaluate(sequenceLength, deviceSpans_ ? &*deviceSpans_ : nullptr);
  recorder_.record([&](std::int64_t nowNs) {
    return events::Evaluation(nowNs, step, score.samples, static_cast<float>(score.accuracy),
                              static_cast<float>(score.loss));
  });
  lastEvaluated_ = step;
}

}  // namespace

Result<std::unique_ptr<Training>> Training::make(TrainingSetup setup, Instruments instruments) {
  const Options& options = *setup.options;
  try {
    return std::unique_ptr<Training>(
        std::make_unique<TrainingLoop>(std::move(setup), std::move(instruments)));
  } catch (const std::exception& error) {
    const ErrorCode code = isOutOfMemory(error) ? ErrorCode::kOutOfMemory : ErrorCode::kFailed;
    return Error{code, "the model cannot be built: " + textWithAdvice(error, options)};
  }
}

}  // namespace highwater::worker

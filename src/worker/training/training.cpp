#include "worker/training/training.h"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "core/checkpoint_slots.h"
#include "core/names.h"
#include "core/out_of_memory.h"
#include "probe/observer/deliberate_scope.h"
#include "probe/readings/cuda_device.h"
#include "probe/readings/device_span_meter.h"
#include "probe/readings/mps_device.h"
#include "probe/readings/peak_meter.h"
#include "probe/readings/phase_scope.h"
#include "worker/checks/dry_check.h"
#include "worker/training/autocast_scope.h"
#include "worker/training/checkpoint.h"
#include "worker/training/checkpoint_clock.h"
#include "worker/training/classifier.h"
#include "worker/training/recovery.h"
#include "worker/training/training_errors.h"
#include "worker/training/workload.h"

namespace highwater::worker {
namespace {

constexpr std::uint32_t kEvaluationBatch = 32;
constexpr char kRecoverySpan[] = "recovery from out of memory";

/// The exception thrown where the run ends because memory is used up.
struct OutOfMemoryEnd {
  std::string message;
};

/// The error's message, with advice for an op without an MPS kernel.
std::string textWithAdvice(const std::exception& error, const Options& options) {
  if (!isMissingOp(error) || fallbackAllowed()) return firstLine(error);
  const std::string scenario = options.scenario.empty() ? "" : " --scenario " + options.scenario;
  return missingOpText(error, "--workload" + scenario);
}

class TrainingLoop final : public Training {
 public:
  TrainingLoop(TrainingSetup setup, Instruments instruments);

  Result<std::uint32_t> restore() override;
  RunDescription description() const override;
  Outcome run(process::RunControl& control) override;

 private:
  void boundary(const process::NextAction& action);
  /// Trains a step, or drops it where memory runs out: `control` then gives it again. Throws any
  /// other error, and OutOfMemoryEnd where the run cannot go on.
  void trainOrDrop(const process::NextAction& action, process::RunControl& control);
  void trainStep(const process::NextAction& action);
  /// Trains on one of the step's batches, up to its backward pass. Returns the step's loss so far,
  /// a tensor without a graph.
  torch::Tensor trainBatch(const process::NextAction& action, const Knobs& knobs,
                           std::uint32_t round, const torch::Tensor& before);
  void useKnobs(const process::NextAction& action);
  void useMemoryFraction(double fraction, std::uint32_t step);
  void emptyCache(std::uint32_t step);
  /// Marks that memory ran out at `step`, and releases what the dropped work holds.
  void releaseAfter(const std::string& refusal, std::uint32_t step);
  void checkContract();
  [[nodiscard]] bool readsLoss(const process::NextAction& action) const;
  void recordStep(std::uint32_t step, const Knobs& knobs);
  /// Writes a checkpoint of the steps that are done, once the device has executed them. If it
  /// cannot be written, that is noted in the recording, and no more are written. Throws if a step
  /// has failed on the device, which shows when it is waited for: what the model holds is undefined
  /// then.
  void keepCheckpoint();
  void evaluate(std::uint32_t step, const Knobs& knobs);
  void evaluateWith(std::uint32_t step, std::uint32_t sequenceLength, std::uint32_t batchSize);
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
  Recovery recovery_;
  std::optional<CheckpointSlots> checkpoint_;  ///< nullopt: none is written
  CheckpointClock checkpointClock_;
  std::uint32_t restoredStep_ = 0;  ///< 0: the run continues no other one
  std::uint32_t keptStep_ = 0;      ///< of the newest checkpoint
  double learningRate_ = 0;         ///< of the optimizer
  double memoryFraction_ = 0;       ///< of the allocator
  std::int64_t beginNs_ = 0;        ///< of the step
  std::optional<float> lossValue_;
  std::uint32_t evaluationBatch_ = kEvaluationBatch;
  bool contractChecked_ = false;
  std::uint32_t stepsDone_ = 0;
  std::uint32_t lastEvaluated_ = 0;
};

TrainingLoop::TrainingLoop(TrainingSetup setup, Instruments instruments)
    : setup_(std::move(setup)),
      recorder_(*instruments.recorder),
      counters_(instruments.counters),
      onStepEnd_(std::move(instruments.onStepEnd)),
      device_(setup_.device.selected == "cpu" ? "cpu" : setup_.device.selected + ":0"),
      checkpointClock_(*setup_.options->checkpointSeconds) {
  if (setup_.options->checkpoint) checkpoint_.emplace(*setup_.options->checkpoint);
  if (counters_) {
    peakSource_ = probe::makeMpsPeaks();
    peaks_.emplace(recorder_, *peakSource_);
  }
  if (instruments.events) deviceSpans_.emplace(recorder_, *instruments.events);
  recorder_.setLevel(*setup_.options->probeLevel);
  const Knobs& knobs = setup_.sizes.knobs;
  learningRate_ = knobs.learningRate;
  memoryFraction_ = knobs.memoryFraction;
  if (setup_.options->memoryFraction > 0 && device_.is_mps()) {
    probe::setMemoryFraction(memoryFraction_);
  }
  workload_ = makeClassifier(setup_, device_);
}

Result<std::uint32_t> TrainingLoop::restore() {
  auto step = restoreCheckpoint(*checkpoint_, *workload_, device_);
  if (!step) return step;
  stepsDone_ = restoredStep_ = keptStep_ = *step;
  return step;
}

void TrainingLoop::keepCheckpoint() {
  if (!checkpoint_ || stepsDone_ == keptStep_) return;
  if (device_.is_mps()) {
    // The device has to execute the queued step in any case. If its time counted as the cost of a
    // checkpoint, the limit of 2 % would put at least 49 steps between two checkpoints.
    const probe::DeliberateScope scope(recorder_, kCheckpointWaitSpan);
    probe::synchronizeDevice(recorder_);
  }
  const probe::DeliberateScope scope(recorder_, kCheckpointSpan);
  const auto begin = CheckpointClock::Clock::now();
  if (auto kept = writeCheckpoint(*checkpoint_, stepsDone_, *workload_, device_); !kept) {
    recorder_.mark(events::MarkerKind::Note, stepsDone_, 0, 0,
                   "no more checkpoints: " + kept.error().message);
    checkpoint_.reset();
    return;
  }
  keptStep_ = stepsDone_;
  checkpointClock_.wrote(begin, CheckpointClock::Clock::now());
}

RunDescription TrainingLoop::description() const {
  const Options& options = *setup_.options;
  RunDescription run;
  run.workload = kBuiltInWorkload;
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
  run.probeLevel = *options.probeLevel;
  return run;
}

Training::Outcome TrainingLoop::run(process::RunControl& control) {
  Outcome outcome;
  Knobs knobs = control.knobs();
  if (restoredStep_ > 0) {
    const std::string& of = *setup_.options->continues;
    recorder_.setStep(restoredStep_);
    recorder_.mark(
        events::MarkerKind::Note, restoredStep_, 0, 0,
        "continued from step " + std::to_string(restoredStep_) + (of.empty() ? "" : " of " + of));
  }
  try {
    while (true) {
      const process::NextAction action = control.next();
      if (action.kind == process::NextAction::Kind::kStop) break;
      if (action.kind != process::NextAction::Kind::kStep) {
        boundary(action);
        continue;
      }
      knobs = action.knobs;
      trainOrDrop(action, control);
      const std::uint32_t every = setup_.options->evalEvery;
      const bool isDue = stepsDone_ == action.step && every > 0 && stepsDone_ % every == 0;
      if (isDue) evaluate(stepsDone_, knobs);
      if (checkpointClock_.isDue(CheckpointClock::Clock::now())) keepCheckpoint();
    }
    // Before the evaluation, which may take longer than the host waits.
    if (control.stopRequested() && !control.isHostGone()) keepCheckpoint();
    const bool wanted =
        stepsDone_ > restoredStep_ && lastEvaluated_ != stepsDone_ && !control.isHostGone();
    if (wanted) evaluate(stepsDone_, knobs);
  } catch (const OutOfMemoryEnd& end) {
    outcome.failure = Failure{Failure::Kind::kOutOfMemory, end.message};
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
    case process::NextAction::Kind::kEmptyCache:
      emptyCache(action.step);
      break;
    case process::NextAction::Kind::kTry:
      if (device_.is_mps()) probe::waitForDevice();
      recorder_.mark(events::MarkerKind::Note, stepsDone_, 0, 0,
                     noteOfBlock(action.part, /*isOfKnob=*/true));
      break;
    default:
      break;
  }
}

void TrainingLoop::emptyCache(std::uint32_t step) {
  const auto driver = [this] {
    const auto counters = counters_ ? counters_->read() : std::nullopt;
    return counters ? static_cast<double>(counters->driverBytes) : 0.0;
  };
  const double before = driver();
  if (device_.is_cuda()) probe::emptyCudaCache();
  if (device_.is_mps()) probe::emptyDeviceCache();
  recorder_.mark(events::MarkerKind::CacheEmptied, step, before, driver());
}

void TrainingLoop::trainOrDrop(const process::NextAction& action, process::RunControl& control) {
  std::string refusal;
  try {
    trainStep(action);
  } catch (const std::exception& error) {
    const auto refused = refusedAllocation(error);
    if (!refused) throw;
    refusal = *refused;
  }
  // The exception is gone here, and with it the step's tensors.
  if (refusal.empty()) {
    stepsDone_ = action.step;
    if (const auto failed = recovery_.trained()) {
      const std::uint32_t batch = action.knobs.batchSize;
      const std::string how = *failed == batch ? "trained with the same batch"
                                               : "batch " + std::to_string(*failed) + " \u2192 " +
                                                     std::to_string(batch);
      recorder_.mark(events::MarkerKind::Recovered, action.step, *failed, batch, how);
    }
    return;
  }
  const bool isHalf = workload_->optimizer().isMidway();
  releaseAfter(refusal, action.step);
  if (isHalf) {
    throw OutOfMemoryEnd{"step " + std::to_string(action.step) +
                         " ran out of memory while the optimizer changed the parameters, so the "
                         "training cannot go on from there: " +
                         refusal};
  }
  const auto change = recovery_.afterOutOfMemory(action.step, action.knobs, refusal);
  if (!change) throw OutOfMemoryEnd{change.error().message};
  control.repeatStep(*change);
}

void TrainingLoop::releaseAfter(const std::string& refusal, std::uint32_t step) {
  const OutOfMemoryNumbers numbers = outOfMemoryNumbers(refusal);
  recorder_.mark(events::MarkerKind::OutOfMemory, step,
                 static_cast<double>(numbers.requested.value_or(0)),
                 static_cast<double>(numbers.maxAllowed.value_or(0)), refusal);
  const probe::DeliberateScope scope(recorder_, kRecoverySpan);
  workload_->dropStep();
  workload_->optimizer().zero_grad();
  // What queued work still uses cannot be released.
  if (device_.is_mps()) probe::synchronizeDevice(recorder_);
  emptyCache(step);
}

void TrainingLoop::useKnobs(const process::NextAction& action) {
  for (const process::KnobChange& change : action.changes) {
    recorder_.mark(change.kind, action.step, change.before, change.after);
  }
  if (action.knobs.learningRate != learningRate_) {
    learningRate_ = action.knobs.learningRate;
    for (auto& group : workload_->optimizer().param_groups()) {
      group.options().set_lr(learningRate_);
    }
  }
  if (action.knobs.memoryFraction != memoryFraction_) {
    useMemoryFraction(action.knobs.memoryFraction, action.step);
  }
}

void TrainingLoop::useMemoryFraction(double fraction, std::uint32_t step) {
  memoryFraction_ = fraction;
  try {
    probe::setMemoryFraction(fraction);
  } catch (const std::exception& error) {
    recorder_.mark(events::MarkerKind::Note, step, 0, 0,
                   "the memory fraction was refused: " + firstLine(error));
  }
}

void TrainingLoop::trainStep(const process::NextAction& action) {
  recorder_.setStep(action.step);
  useKnobs(action);
  if (action.probeLevel != recorder_.level()) {
    recorder_.mark(events::MarkerKind::ProbeLevel, action.step,
                   static_cast<double>(recorder_.level()), static_cast<double>(action.probeLevel));
    recorder_.setLevel(action.probeLevel);
  }
  recorder_.resetSeenPeaks();
  if (peaks_) peaks_->beginStep();
  beginNs_ = recorder_.now();
  lossValue_.reset();
  Knobs knobs = action.knobs;
  knobs.sequenceLength = workload_->beginStep(knobs.sequenceLength);
  torch::Tensor loss;
  for (std::uint32_t round = 0; round < knobs.accumulation; ++round) {
    loss = trainBatch(action, knobs, round, loss);
  }
  {
    const auto scope = phase(events::Phase::OptimizerStep);
    workload_->optimizer().step();
  }
  if (deviceSpans_) deviceSpans_->endStep();
  recordStep(action.step, knobs);
  if (onStepEnd_) onStepEnd_();
  workload_->endStep();
}

torch::Tensor TrainingLoop::trainBatch(const process::NextAction& action, const Knobs& knobs,
                                       std::uint32_t round, const torch::Tensor& before) {
  {
    const auto scope = phase(events::Phase::BatchAssembly);
    workload_->assemble(knobs);
  }
  {
    const auto scope = phase(events::Phase::DeviceMove);
    workload_->moveToDevice();
  }
  checkContract();
  if (deviceSpans_ && round == 0) {
    // The move to the device has waited for it: the previous step is over on the device too.
    deviceSpans_->readWhereIdle();
    deviceSpans_->beginStep(action.step);
  }
  torch::Tensor loss, sum;
  {
    const auto scope = phase(events::Phase::Forward);
    {
      const AutocastScope autocast(device_, knobs.precision);
      loss = workload_->loss();
    }
    if (knobs.accumulation > 1) {
      // The gradients of the step are those of the mean over its batches.
      loss = loss / static_cast<double>(knobs.accumulation);
      sum = before.defined() ? before + loss.detach() : loss.detach();
    } else {
      sum = loss;
    }
  }
  const bool isLast = round + 1 == knobs.accumulation;
  if (isLast && (readsLoss(action) || workload_->logs())) {
    const auto scope = phase(events::Phase::LossRead);
    if (readsLoss(action)) lossValue_ = sum.item<float>();
    if (workload_->logs()) workload_->log(action.step);
  }
  {
    const auto scope = phase(events::Phase::Backward);
    if (round == 0) workload_->optimizer().zero_grad();
    workload_->backward(loss);
  }
  return sum;
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

void TrainingLoop::recordStep(std::uint32_t step, const Knobs& knobs) {
  const std::uint64_t tokens =
      std::uint64_t{knobs.batchSize} * knobs.sequenceLength * knobs.accumulation;
  constexpr std::uint64_t kMostTokens = std::numeric_limits<std::uint32_t>::max();
  const auto exact = peaks_ ? peaks_->endStep() : std::nullopt;
  const std::uint64_t current = exact.value_or(recorder_.seenPeakCurrent());
  recorder_.record([&](std::int64_t nowNs) {
    return events::StepRecord(beginNs_, nowNs - beginNs_, current, recorder_.seenPeakDriver(), -1,
                              step, knobs.batchSize, knobs.sequenceLength,
                              static_cast<std::uint32_t>(std::min(tokens, kMostTokens)),
                              lossValue_.value_or(std::numeric_limits<float>::quiet_NaN()),
                              static_cast<std::uint8_t>(lossValue_.has_value()),
                              static_cast<std::uint8_t>(exact.has_value()));
  });
}

/// Evaluates; where memory runs out, with ever smaller batches, unless the run is to stop then. An
/// evaluation that even a batch of 1 does not fit is left out.
void TrainingLoop::evaluate(std::uint32_t step, const Knobs& knobs) {
  while (true) {
    std::string refusal;
    try {
      evaluateWith(step, knobs.sequenceLength, evaluationBatch_);
      return;
    } catch (const std::exception& error) {
      const auto refused = refusedAllocation(error);
      if (!refused) throw;
      refusal = *refused;
    }
    releaseAfter(std::string(kInEvaluation) + refusal, step);
    if (knobs.outOfMemory == OutOfMemoryPolicy::kStop) throw OutOfMemoryEnd{refusal};
    if (evaluationBatch_ == 1) return;
    evaluationBatch_ /= 2;
  }
}

void TrainingLoop::evaluateWith(std::uint32_t step, std::uint32_t sequenceLength,
                                std::uint32_t batchSize) {
  const torch::NoGradGuard noGrad;
  const probe::DeliberateScope scope(recorder_, kEvaluationSpan);
  const Workload::Score score =
      workload_->evaluate(sequenceLength, batchSize, deviceSpans_ ? &*deviceSpans_ : nullptr);
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

#include "worker/training/training.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <utility>

#include "core/names.h"
#include "core/scenarios.h"
#include "probe/observer/deliberate_scope.h"
#include "probe/readings/cuda_device.h"
#include "probe/readings/device_span_meter.h"
#include "probe/readings/mps_device.h"
#include "probe/readings/peak_meter.h"
#include "probe/readings/phase_scope.h"
#include "worker/checks/dry_check.h"
#include "worker/data/batches.h"
#include "worker/data/tokenizer.h"
#include "worker/training/model.h"
#include "worker/training/scenario.h"
#include "worker/training/training_errors.h"

namespace highwater::worker {
namespace {

constexpr double kWeightDecay = 0.01;
constexpr std::uint32_t kEvaluationBatch = 32;

/// A batch as tensors, on the host or on the device.
struct BatchTensors {
  torch::Tensor ids;
  torch::Tensor labels;
};

/// Copies the batch to CPU tensors; from_blob() alone would not own the memory.
BatchTensors onHost(const HostBatch& batch) {
  auto* ids = const_cast<TokenId*>(batch.ids.data());
  auto* labels = const_cast<std::int64_t*>(batch.labels.data());
  return {torch::from_blob(ids, {batch.batchSize, batch.sequenceLength}, torch::kInt64).clone(),
          torch::from_blob(labels, {batch.batchSize}, torch::kInt64).clone()};
}

/// The error's message, with advice for an op without an MPS kernel.
std::string textWithAdvice(const std::exception& error, const Options& options) {
  if (!isMissingOp(error) || fallbackAllowed()) return firstLine(error);
  const std::string scenario = options.scenario.empty() ? "" : " --scenario " + options.scenario;
  return missingOpText(error, "--workload " + options.workload + scenario);
}

class ClassifierTraining : public Training {
 public:
  ClassifierTraining(TrainingSetup setup, Instruments instruments);

  RunDescription description() const override;
  Outcome run(process::RunControl& control) override;

 private:
  [[nodiscard]] std::unique_ptr<ScenarioProgram> makeProgram() const;
  void boundary(const process::NextAction& action);
  void trainStep(const process::NextAction& action);
  [[nodiscard]] BatchTensors moveToDevice(const HostBatch& batch);
  void checkContract(const BatchTensors& batch);
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
  Vocabulary vocabulary_;
  EncodedTexts train_;
  EncodedTexts heldOut_;
  RowOrder order_;
  torch::Device device_;
  IssueClassifier model_{nullptr};
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  std::unique_ptr<ScenarioProgram> program_;
  bool contractChecked_ = false;
  std::uint32_t stepsDone_ = 0;
  std::uint32_t lastEvaluated_ = 0;
};

ClassifierTraining::ClassifierTraining(TrainingSetup setup, Instruments instruments)
    : setup_(std::move(setup)),
      recorder_(*instruments.recorder),
      counters_(instruments.counters),
      onStepEnd_(std::move(instruments.onStepEnd)),
      vocabulary_(Vocabulary::build(setup_.data.train.texts)),
      train_(encodeTexts(setup_.data.train, vocabulary_)),
      heldOut_(encodeTexts(setup_.data.heldOut, vocabulary_)),
      order_(train_.size(), setup_.options->seed),
      device_(setup_.device.selected == "cpu" ? "cpu" : setup_.device.selected + ":0") {
  if (counters_) {
    peakSource_ = probe::makeMpsPeaks();
    peaks_.emplace(recorder_, *peakSource_);
  }
  if (instruments.events) deviceSpans_.emplace(recorder_, *instruments.events);
  recorder_.setLevel(setup_.options->probeLevel);
  torch::manual_seed(setup_.options->seed);
  model_ = IssueClassifier(setup_.sizes.model, static_cast<std::int64_t>(vocabulary_.size()),
                           static_cast<std::int64_t>(setup_.data.labelNames.size()));
  model_->to(device_);
  optimizer_ = std::make_unique<torch::optim::AdamW>(
      model_->parameters(),
      torch::optim::AdamWOptions(setup_.sizes.learningRate).weight_decay(kWeightDecay));
  program_ = makeProgram();
  program_->prepare(*model_);
}

std::unique_ptr<ScenarioProgram> ClassifierTraining::makeProgram() const {
  const auto scenario = findScenario(setup_.options->scenario);
  auto program = makeScenarioProgram(scenario ? (*scenario)->program : "plain",
                                     {setup_.data, train_, vocabulary_, setup_.options->seed});
  if (!program) throw std::runtime_error(program.error().message);
  return std::move(*program);
}

RunDescription ClassifierTraining::description() const {
  const Options& options = *setup_.options;
  RunDescription run;
  run.workload = options.workload;
  run.preset = setup_.sizes.model.preset;
  run.dtype = "float32";
  run.dataset = setup_.data.name;
  run.trainRows = static_cast<std::uint32_t>(train_.size());
  run.heldOutRows = static_cast<std::uint32_t>(heldOut_.size());
  run.labels = setup_.data.labelNames;
  run.vocabularySize = static_cast<std::uint32_t>(vocabulary_.size());
  run.width = setup_.sizes.model.width;
  run.layers = setup_.sizes.model.layers;
  run.heads = setup_.sizes.model.heads;
  for (const torch::Tensor& parameter : model_->parameters()) {
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

Training::Outcome ClassifierTraining::run(process::RunControl& control) {
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

Failure ClassifierTraining::failureOf(const std::exception& error) {
  const std::string message = textWithAdvice(error, *setup_.options);
  if (!isOutOfMemory(error)) {
    return {Failure::Kind::kFailed,
            "step " + std::to_string(recorder_.step()) + " failed: " + message};
  }
  recorder_.mark(events::MarkerKind::OutOfMemory, recorder_.step(), 0, 0, message);
  return {Failure::Kind::kOutOfMemory, message};
}

void ClassifierTraining::boundary(const process::NextAction& action) {
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

void ClassifierTraining::trainStep(const process::NextAction& action) {
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
  model_->train();

  const std::int64_t beginNs = recorder_.now();
  Knobs knobs = action.knobs;
  knobs.sequenceLength = program_->sequenceLength(knobs.sequenceLength);
  HostBatch host;
  {
    const auto scope = phase(events::Phase::BatchAssembly);
    host = program_->assemble(order_.next(knobs.batchSize), knobs.sequenceLength);
  }
  BatchTensors batch;
  {
    const auto scope = phase(events::Phase::DeviceMove);
    batch = moveToDevice(host);
  }
  checkContract(batch);
  if (deviceSpans_) {
    // The move to the device has waited for it: the previous step is over on the device too.
    deviceSpans_->readWhereIdle();
    deviceSpans_->beginStep(action.step);
  }
  torch::Tensor logits, loss;
  {
    const auto scope = phase(events::Phase::Forward);
    logits = model_(batch.ids);
    loss = program_->loss(logits, batch.labels);
  }
  std::optional<float> lossValue;
  if (readsLoss(action) || program_->logs()) {
    const auto scope = phase(events::Phase::LossRead);
    if (readsLoss(action)) lossValue = loss.item<float>();
    if (program_->logs()) program_->log(action.step, logits);
  }
  {
    const auto scope = phase(events::Phase::Backward);
    optimizer_->zero_grad();
    program_->backward(loss);
  }
  {
    const auto scope = phase(events::Phase::OptimizerStep);
    optimizer_->step();
  }
  if (deviceSpans_) deviceSpans_->endStep();
  recordStep(action.step, knobs, beginNs, lossValue);
  if (onStepEnd_) onStepEnd_();
}

BatchTensors ClassifierTraining::moveToDevice(const HostBatch& batch) {
  const BatchTensors host = onHost(batch);
  if (setup_.options->breakContract) return host;
  return {host.ids.to(device_), host.labels.to(device_)};
}

void ClassifierTraining::checkContract(const BatchTensors& batch) {
  if (contractChecked_) return;
  const torch::Device model = model_->parameters().front().device();
  for (const torch::Tensor& tensor : {batch.ids, batch.labels}) {
    if (tensor.device().type() == model.type()) continue;
    throw ContractViolation{"batch device " + deviceName(tensor.device()) +
                            " does not match model device " + deviceName(model)};
  }
  contractChecked_ = true;
}

bool ClassifierTraining::readsLoss(const process::NextAction& action) const {
  return action.step == 1 || action.step == setup_.options->steps ||
         action.step % action.knobs.lossEvery == 0;
}

void ClassifierTraining::recordStep(std::uint32_t step, const Knobs& knobs, std::int64_t beginNs,
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

void ClassifierTraining::evaluate(std::uint32_t step, std::uint32_t sequenceLength) {
  const torch::NoGradGuard noGrad;
  const probe::DeliberateScope scope(recorder_, kEvaluationSpan);
  model_->eval();
  std::vector<std::size_t> rows;
  std::int64_t right = 0;
  double lossSum = 0;
  for (std::size_t first = 0; first < heldOut_.size(); first += kEvaluationBatch) {
    rows.clear();
    for (std::size_t i = first; i < std::min(first + kEvaluationBatch, heldOut_.size()); ++i) {
      rows.push_back(i);
    }
    const BatchTensors host = onHost(assembleBatch(heldOut_, rows, sequenceLength));
    const torch::Tensor logits = model_(host.ids.to(device_)).to(torch::kCPU);
    if (deviceSpans_) deviceSpans_->readWhereIdle();
    right += logits.argmax(1).eq(host.labels).sum().item<std::int64_t>();
    lossSum += torch::nn::functional::cross_entropy(logits, host.labels).item<double>() *
               static_cast<double>(rows.size());
  }
  const auto samples = static_cast<double>(heldOut_.size());
  recorder_.record([&](std::int64_t nowNs) {
    return events::Evaluation(nowNs, step, static_cast<std::uint32_t>(heldOut_.size()),
                              static_cast<float>(static_cast<double>(right) / samples),
                              static_cast<float>(lossSum / samples));
  });
  lastEvaluated_ = step;
}

}  // namespace

Result<std::unique_ptr<Training>> Training::make(TrainingSetup setup, Instruments instruments) {
  const Options& options = *setup.options;
  try {
    return std::unique_ptr<Training>(
        std::make_unique<ClassifierTraining>(std::move(setup), std::move(instruments)));
  } catch (const std::exception& error) {
    const ErrorCode code = isOutOfMemory(error) ? ErrorCode::kOutOfMemory : ErrorCode::kFailed;
    return Error{code, "the model cannot be built: " + textWithAdvice(error, options)};
  }
}

}  // namespace highwater::worker

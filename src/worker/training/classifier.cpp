#include "worker/training/classifier.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/scenarios.h"
#include "worker/data/batches.h"
#include "worker/data/tokenizer.h"
#include "worker/training/atomic_adamw.h"
#include "worker/training/model.h"
#include "worker/training/scenario.h"

namespace highwater::worker {
namespace {

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

class Classifier final : public Workload {
 public:
  Classifier(const TrainingSetup& setup, const torch::Device& device);

  void describe(RunDescription& run) const override;
  std::vector<torch::Tensor> parameters() const override { return model_->parameters(); }
  std::vector<std::pair<std::string, torch::Tensor>> namedParameters() const override {
    return model_->named_parameters().pairs();
  }
  void useEvaluationMode() override { model_->eval(); }
  void useFloat64() override { model_->to(torch::kFloat64); }
  std::vector<std::pair<std::string, torch::Tensor>> modelState() const override;
  void savePosition(std::ostream& out) const override {
    order_.save(out);
    program_->save(out);
  }
  void loadPosition(std::istream& in) override {
    order_.load(in);
    program_->load(in);
  }
  AtomicAdamW& optimizer() override { return *optimizer_; }

  std::uint32_t beginStep(std::uint32_t planned) override {
    model_->train();
    return program_->sequenceLength(planned);
  }
  void assemble(const Knobs& knobs) override {
    const std::vector<std::size_t> rows = order_.next(knobs.batchSize);
    rowsOfStep_.insert(rowsOfStep_.end(), rows.begin(), rows.end());
    host_ = program_->assemble(rows, knobs.sequenceLength);
  }
  void moveToDevice() override;
  std::vector<torch::Tensor> batch() const override { return {batch_.ids, batch_.labels}; }
  torch::Tensor loss() override {
    logits_ = model_(batch_.ids);
    return program_->loss(logits_, batch_.labels);
  }
  void backward(torch::Tensor& loss) override { program_->backward(loss); }
  bool logs() const override { return program_->logs(); }
  void log(std::uint32_t step) override { program_->log(step, logits_); }
  void dropStep() override {
    order_.putBack(rowsOfStep_);
    endStep();
  }
  void endStep() override {
    rowsOfStep_.clear();
    host_ = {};
    batch_ = {};
    logits_ = torch::Tensor();
  }

  Score evaluate(std::uint32_t sequenceLength, std::uint32_t batchSize,
                 probe::DeviceSpanMeter* spans) override;

 private:
  [[nodiscard]] std::unique_ptr<ScenarioProgram> makeProgram() const;

  const TrainingSetup& setup_;
  torch::Device device_;
  Vocabulary vocabulary_;
  EncodedTexts train_;
  EncodedTexts heldOut_;
  RowOrder order_;
  IssueClassifier model_{nullptr};
  std::unique_ptr<AtomicAdamW> optimizer_;
  std::unique_ptr<ScenarioProgram> program_;
  std::vector<std::size_t> rowsOfStep_;
  HostBatch host_;
  BatchTensors batch_;
  torch::Tensor logits_;  ///< of the step's batch
};

Classifier::Classifier(const TrainingSetup& setup, const torch::Device& device)
    : setup_(setup),
      device_(device),
      vocabulary_(Vocabulary::build(setup_.data.train.texts)),
      train_(encodeTexts(setup_.data.train, vocabulary_)),
      heldOut_(encodeTexts(setup_.data.heldOut, vocabulary_)),
      order_(train_.size(), *setup_.options->seed) {
  torch::manual_seed(*setup_.options->seed);
  model_ = IssueClassifier(setup_.sizes.model, static_cast<std::int64_t>(vocabulary_.size()),
                           static_cast<std::int64_t>(setup_.data.labelNames.size()));
  model_->to(device_);
  optimizer_ = std::make_unique<AtomicAdamW>(
      model_->parameters(),
      torch::optim::AdamWOptions(setup_.sizes.knobs.learningRate).weight_decay(kWeightDecay));
  program_ = makeProgram();
  program_->prepare(*model_);
}

std::unique_ptr<ScenarioProgram> Classifier::makeProgram() const {
  const auto scenario = findScenario(setup_.options->scenario);
  auto program = makeScenarioProgram(scenario ? (*scenario)->program : "plain",
                                     {setup_.data, train_, vocabulary_, *setup_.options->seed});
  if (!program) throw std::runtime_error(program.error().message);
  return std::move(*program);
}

void Classifier::describe(RunDescription& run) const {
  run.preset = setup_.sizes.model.preset;
  run.dataset = setup_.data.name;
  run.trainRows = static_cast<std::uint32_t>(train_.size());
  run.heldOutRows = static_cast<std::uint32_t>(heldOut_.size());
  run.labels = setup_.data.labelNames;
  run.vocabularySize = static_cast<std::uint32_t>(vocabulary_.size());
  run.width = setup_.sizes.model.width;
  run.layers = setup_.sizes.model.layers;
  run.heads = setup_.sizes.model.heads;
}

std::vector<std::pair<std::string, torch::Tensor>> Classifier::modelState() const {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  for (const auto& each : model_->named_parameters()) all.emplace_back(each.key(), each.value());
  for (const auto& each : model_->named_buffers()) all.emplace_back(each.key(), each.value());
  return all;
}

void Classifier::moveToDevice() {
  batch_ = onHost(host_);
  if (setup_.options->breakContract) return;
  batch_ = {batch_.ids.to(device_), batch_.labels.to(device_)};
}

Workload::Score Classifier::evaluate(std::uint32_t sequenceLength, std::uint32_t batchSize,
                                     probe::DeviceSpanMeter* spans) {
  model_->eval();
  std::vector<std::size_t> rows;
  std::int64_t right = 0;
  double lossSum = 0;
  for (std::size_t first = 0; first < heldOut_.size(); first += batchSize) {
    rows.clear();
    for (std::size_t i = first; i < std::min(first + batchSize, heldOut_.size()); ++i) {
      rows.push_back(i);
    }
    const BatchTensors host = onHost(assembleBatch(heldOut_, rows, sequenceLength));
    const torch::Tensor logits = model_(host.ids.to(device_)).to(torch::kCPU);
    if (spans) spans->readWhereIdle();
    right += logits.argmax(1).eq(host.labels).sum().item<std::int64_t>();
    lossSum += torch::nn::functional::cross_entropy(logits, host.labels).item<double>() *
               static_cast<double>(rows.size());
  }
  const auto samples = static_cast<double>(heldOut_.size());
  return {static_cast<std::uint32_t>(heldOut_.size()), static_cast<double>(right) / samples,
          lossSum / samples};
}

}  // namespace

std::unique_ptr<Workload> makeClassifier(const TrainingSetup& setup, const torch::Device& device) {
  return std::make_unique<Classifier>(setup, device);
}

}  // namespace highwater::worker

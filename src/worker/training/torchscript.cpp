#include "worker/training/torchscript.h"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/plain_text.h"
#include "worker/training/atomic_adamw.h"
#include "worker/training/module_run.h"
#include "worker/training/training_errors.h"

namespace highwater::worker {
namespace {

namespace F = torch::nn::functional;

constexpr std::uint32_t kTriedBatch = 2;

/// The error in one line. TorchScript puts the message last, after the lines of the model's code.
std::string errorLine(const std::exception& error) {
  const auto* ofTorch = dynamic_cast<const c10::Error*>(&error);
  std::string text = ofTorch ? ofTorch->what_without_backtrace() : error.what();
  constexpr std::string_view kMark = "RuntimeError: ";
  if (const auto at = text.rfind(kMark); at != std::string::npos) text.erase(0, at + kMark.size());
  const auto begin = text.find_first_not_of(" \n");
  text.erase(0, std::min(begin, text.size()));
  return plainText(text.substr(0, text.find('\n')));
}

/// The name of a type of parameters in Python.
std::string dtypeName(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return "float32";
    case torch::kFloat16:
      return "float16";
    case torch::kBFloat16:
      return "bfloat16";
    case torch::kFloat64:
      return "float64";
    default:
      return c10::toString(type);
  }
}

std::string shapeText(const torch::Tensor& tensor) {
  std::string text = "[";
  for (const std::int64_t size : tensor.sizes()) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + ']';
}

torch::Tensor randomTensor(const FileTensor& what, std::uint32_t batch, std::uint32_t length) {
  std::vector<std::int64_t> shape;
  for (const FileSize& size : what.shape) shape.push_back(size.with(batch, length));
  const auto low = static_cast<std::int64_t>(what.low), high = static_cast<std::int64_t>(what.high);
  switch (what.type) {
    case FileTensor::Type::kInt64:
      return torch::randint(low, high, shape, torch::kInt64);
    case FileTensor::Type::kInt32:
      return torch::randint(low, high, shape, torch::kInt32);
    case FileTensor::Type::kBool:
      return torch::randint(0, 2, shape, torch::kInt64).to(torch::kBool);
    default:
      return what.normal ? torch::randn(shape)
                         : torch::rand(shape) * (what.high - what.low) + what.low;
  }
}

/// The output that the loss is computed of.
torch::Tensor outputOf(const torch::IValue& value, const ModelFile& file) {
  if (const auto* key = std::get_if<std::string>(&file.output)) {
    if (!value.isGenericDict()) {
      throw std::runtime_error("\"output\" is the key \"" + plainText(*key) +
                               "\", but the model returns no dictionary");
    }
    const auto dictionary = value.toGenericDict();
    const auto found = dictionary.find(torch::IValue(*key));
    if (found == dictionary.end() || !found->value().isTensor()) {
      throw std::runtime_error("the model's output has no tensor \"" + plainText(*key) + '"');
    }
    return found->value().toTensor();
  }
  const std::size_t index = std::get<std::size_t>(file.output);
  const auto elementOf = [&](const auto& elements) {
    if (index >= elements.size()) {
      throw std::runtime_error("\"output\" is " + std::to_string(index) +
                               ", but the model returns " + std::to_string(elements.size()) +
                               " values");
    }
    const torch::IValue& element = elements[index];
    if (!element.isTensor()) throw std::runtime_error("the model's output is no tensor");
    return element.toTensor();
  };
  if (value.isTuple()) return elementOf(value.toTupleRef().elements());
  if (value.isTensorList()) return elementOf(value.toListRef());
  if (value.isTensor() && index == 0) return value.toTensor();
  throw std::runtime_error("the model's output is no tensor; name one by \"output\"");
}

/// The loss of classes: of an output batch × ... × classes and a target batch × ....
torch::Tensor classLoss(const torch::Tensor& output, const torch::Tensor& target, bool logits) {
  const torch::Tensor rows = output.dim() > 2 ? output.flatten(0, -2) : output;
  const torch::Tensor wanted = target.dim() > 1 ? target.flatten() : target;
  return logits ? F::cross_entropy(rows, wanted) : F::nll_loss(rows, wanted);
}

torch::Tensor lossOf(FileLoss loss, const torch::Tensor& output, const torch::Tensor& target) {
  switch (loss) {
    case FileLoss::kCrossEntropy:
      return classLoss(output, target, true);
    case FileLoss::kNll:
      return classLoss(output, target, false);
    case FileLoss::kMse:
      return F::mse_loss(output, target);
    case FileLoss::kL1:
      return F::l1_loss(output, target);
    case FileLoss::kSmoothL1:
      return F::smooth_l1_loss(output, target);
    case FileLoss::kBinaryCrossEntropy:
      return F::binary_cross_entropy_with_logits(output, target);
    default:
      return output;
  }
}

/// Losses of differences broadcast, which hides a target of another shape.
bool needsEqualShapes(FileLoss loss) {
  return loss == FileLoss::kMse || loss == FileLoss::kL1 || loss == FileLoss::kSmoothL1 ||
         loss == FileLoss::kBinaryCrossEntropy;
}

std::unique_ptr<torch::optim::Optimizer> makeOptimizer(
    const ModelFile& file, double rate, const std::vector<torch::Tensor>& parameters) {
  if (file.optimizer == "sgd") return std::make_unique<torch::optim::SGD>(parameters, rate);
  const double decay = file.optimizer == "adam" ? 0 : kWeightDecay;
  return std::make_unique<AtomicAdamW>(parameters,
                                       torch::optim::AdamWOptions(rate).weight_decay(decay));
}

class TorchScript final : public Workload {
 public:
  TorchScript(const TrainingSetup& setup, const torch::Device& device)
      : setup_(setup), file_(*setup.model), device_(device) {
    torch::manual_seed(*setup_.options->seed);
    load();
    tryOnce();
    model_.to(device_);
    optimizer_ = makeOptimizer(file_, setup_.sizes.knobs.learningRate, parameters());
  }

  void describe(RunDescription& run) const override {
    run.dataset = "random values";
    run.dtype = dtypeName(parameters().front().scalar_type());
    run.model = modelName_;
  }
  std::vector<torch::Tensor> parameters() const override {
    std::vector<torch::Tensor> trained;
    for (const torch::Tensor& each : model_.parameters()) {
      if (each.requires_grad()) trained.push_back(each);
    }
    return trained;
  }
  std::vector<std::pair<std::string, torch::Tensor>> namedParameters() const override {
    std::vector<std::pair<std::string, torch::Tensor>> trained;
    for (const auto& each : model_.named_parameters()) {
      if (each.value.requires_grad()) trained.emplace_back(each.name, each.value);
    }
    return trained;
  }
  void useEvaluationMode() override { model_.eval(); }
  void useFloat64() override {
    model_.to(torch::kFloat64);
    isFloat64_ = true;
  }
  std::vector<std::pair<std::string, torch::Tensor>> modelState() const override {
    std::vector<std::pair<std::string, torch::Tensor>> all;
    for (const auto& each : model_.named_parameters()) all.emplace_back(each.name, each.value);
    for (const auto& each : model_.named_buffers()) all.emplace_back(each.name, each.value);
    return all;
  }
  std::vector<torch::Tensor> buffers() const override {
    std::vector<torch::Tensor> all;
    for (const torch::Tensor& each : model_.buffers()) all.push_back(each);
    return all;
  }
  torch::optim::Optimizer& optimizer() override { return *optimizer_; }

  std::uint32_t beginStep(std::uint32_t planned) override {
    model_.train();
    return planned;
  }
  void assemble(const Knobs& knobs) override { draw(knobs.batchSize, knobs.sequenceLength); }
  void moveToDevice() override {
    for (torch::Tensor& each : inputs_) each = moved(each);
    if (target_.defined()) target_ = moved(target_);
  }
  std::vector<torch::Tensor> batch() const override {
    std::vector<torch::Tensor> all = inputs_;
    if (target_.defined()) all.push_back(target_);
    return all;
  }
  torch::Tensor loss() override { return lossOf(file_.loss, run(), target_); }
  void endStep() override {
    inputs_.clear();
    target_ = torch::Tensor();
  }

 private:
  void load() {
    // Else its executor compiles the first calls, and runs backward as graphs of its own: not the
    // ops that the model is made of.
    torch::jit::setGraphExecutorOptimize(false);
    const std::string& path = setup_.options->workload;
    try {
      model_ = torch::jit::load(path, torch::kCPU);
    } catch (const std::exception& error) {
      throw std::runtime_error('"' + plainText(path) +
                               "\" is no TorchScript file; torch.jit.script(model).save() and "
                               "torch.jit.trace() write one: " +
                               errorLine(error));
    }
    modelName_ = model_.type()->name() ? model_.type()->name()->name() : std::string();
    if (!model_.find_method("forward")) {
      throw std::runtime_error('"' + plainText(path) + "\" has no method forward");
    }
    if (parameters().empty()) {
      throw std::runtime_error('"' + plainText(path) +
                               "\" has no parameters to train: none requires a gradient");
    }
  }

  /// Calls the model on the CPU, so that a wrong description is told apart from an op that the
  /// device lacks.
  void tryOnce() {
    const torch::NoGradGuard noGrad;
    const std::string json = descriptionOf(setup_.options->workload).filename().string();
    draw(kTriedBatch, setup_.sizes.knobs.sequenceLength);
    torch::Tensor output;
    model_.eval();  // a normalisation would learn from the batch
    try {
      output = run();
    } catch (const std::exception& error) {
      std::string shapes;
      for (const torch::Tensor& each : inputs_)
        shapes += (shapes.empty() ? "" : ", ") + shapeText(each);
      throw std::runtime_error("the model does not take the inputs of \"" + plainText(json) +
                               "\", here of the shapes " + shapes + ": " + errorLine(error));
    }
    try {
      checkLoss(output);
    } catch (const std::exception& error) {
      throw std::runtime_error("the loss of \"" + plainText(json) +
                               "\" does not fit the model's output of the shape " +
                               shapeText(output) + ": " + errorLine(error));
    }
    endStep();
  }

  void checkLoss(const torch::Tensor& output) const {
    if (needsEqualShapes(file_.loss) && !output.sizes().equals(target_.sizes())) {
      throw std::runtime_error("the target has the shape " + shapeText(target_));
    }
    const torch::Tensor loss = lossOf(file_.loss, output, target_);
    if (loss.dim() != 0 || !loss.is_floating_point()) {
      throw std::runtime_error("it gives no single number, but the shape " + shapeText(loss));
    }
  }

  void draw(std::uint32_t batch, std::uint32_t length) {
    inputs_.clear();
    for (const FileTensor& each : file_.inputs)
      inputs_.push_back(randomTensor(each, batch, length));
    target_ = file_.target ? randomTensor(*file_.target, batch, length) : torch::Tensor();
  }

  torch::Tensor moved(const torch::Tensor& tensor) const {
    const torch::Tensor there = tensor.to(device_);
    return isFloat64_ && there.is_floating_point() ? there.to(torch::kFloat64) : there;
  }

  torch::Tensor run() {
    const ModuleRun running(modelName_);
    return running.output(outputOf(model_.forward({inputs_.begin(), inputs_.end()}), file_));
  }

  const TrainingSetup& setup_;
  const ModelFile& file_;
  torch::Device device_;
  torch::jit::Module model_;
  std::string modelName_;
  bool isFloat64_ = false;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::vector<torch::Tensor> inputs_;
  torch::Tensor target_;
};

}  // namespace

std::unique_ptr<Workload> makeTorchScript(const TrainingSetup& setup, const torch::Device& device) {
  return std::make_unique<TorchScript>(setup, device);
}

}  // namespace highwater::worker

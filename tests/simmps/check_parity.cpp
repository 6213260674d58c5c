#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <cstring>
#include <vector>

#include "simmps/check.h"

// A small CNN, an LSTM and a transformer: the losses of 50 steps are bit-identical to the CPU's.
namespace {

namespace nn = torch::nn;
namespace optim = torch::optim;
using torch::Tensor;

constexpr int kSteps = 50;
constexpr std::int64_t kBatch = 8, kClasses = 4;

struct CnnImpl : nn::Module {
  CnnImpl()
      : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1)))),
        conv2(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(8, 16, 3).stride(2)))),
        norm1(register_module("norm1", nn::BatchNorm2d(8))),
        norm2(register_module("norm2", nn::BatchNorm2d(16))),
        head(register_module("head", nn::Linear(16 * 7 * 7, kClasses))),
        dropout(register_module("dropout", nn::Dropout(0.25))) {}

  Tensor forward(Tensor x) {
    x = torch::max_pool2d(torch::relu(norm1(conv1(x))), 2);
    x = torch::relu(norm2(conv2(x)));
    return head(dropout(x.flatten(1)));
  }
  static Tensor inputs() { return torch::randn({kSteps, kBatch, 3, 32, 32}); }

  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d norm1, norm2;
  nn::Linear head;
  nn::Dropout dropout;
};
TORCH_MODULE(Cnn);

struct LstmClassifierImpl : nn::Module {
  LstmClassifierImpl()
      : words(register_module("words", nn::Embedding(100, 24))),
        lstm(register_module(
            "lstm",
            nn::LSTM(
                nn::LSTMOptions(24, 32).num_layers(2).dropout(0.2).bidirectional(true).batch_first(
                    true)))),
        head(register_module("head", nn::Linear(64, kClasses))),
        dropout(register_module("dropout", nn::Dropout(0.1))) {}

  Tensor forward(const Tensor& tokens) {
    const Tensor states = std::get<0>(lstm(words(tokens)));
    return head(dropout(states.mean(1)));
  }
  static Tensor inputs() { return torch::randint(0, 100, {kSteps, kBatch, 12}, torch::kLong); }

  nn::Embedding words;
  nn::LSTM lstm;
  nn::Linear head;
  nn::Dropout dropout;
};
TORCH_MODULE(LstmClassifier);

struct BlockImpl : nn::Module {
  BlockImpl(std::int64_t width, std::int64_t headCount)
      : heads(headCount),
        norm1(register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})))),
        norm2(register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})))),
        qkv(register_module("qkv", nn::Linear(width, 3 * width))),
        out(register_module("out", nn::Linear(width, width))),
        up(register_module("up", nn::Linear(width, 4 * width))),
        down(register_module("down", nn::Linear(4 * width, width))),
        dropout(register_module("dropout", nn::Dropout(0.1))) {}

  Tensor forward(Tensor x) {
    const auto batch = x.size(0), length = x.size(1), width = x.size(2);
    const auto parts =
        qkv(norm1(x)).view({batch, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const auto scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) /
                        std::sqrt(static_cast<double>(width / heads));
    const auto mixed = torch::matmul(dropout(torch::softmax(scores, -1)), parts[2]);
    x = x + dropout(out(mixed.transpose(1, 2).reshape({batch, length, width})));
    return x + dropout(down(torch::gelu(up(norm2(x)))));
  }

  std::int64_t heads;
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, out, up, down;
  nn::Dropout dropout;
};
TORCH_MODULE(Block);

/// A transformer with attention written out, as in the sample workload.
struct ClassifierImpl : nn::Module {
  ClassifierImpl()
      : token(register_module("token", nn::Embedding(kWords, 64))),
        position(register_module("position", nn::Embedding(kLength, 64))),
        blocks(register_module("blocks", nn::ModuleList())),
        head(register_module("head", nn::Linear(64, kClasses))) {
    for (int i = 0; i < 2; ++i) blocks->push_back(Block(64, 4));
  }

  Tensor forward(const Tensor& tokens) {
    const auto places = torch::arange(tokens.size(1), tokens.options());
    Tensor x = token(tokens) + position(places);
    for (const auto& block : *blocks) x = block->as<Block>()->forward(x);
    return head(x.mean(1));
  }
  static Tensor inputs() {
    return torch::randint(0, kWords, {kSteps, kBatch, kLength}, torch::kLong);
  }

  static constexpr std::int64_t kWords = 1000, kLength = 32;
  nn::Embedding token, position;
  nn::ModuleList blocks;
  nn::Linear head;
};
TORCH_MODULE(Classifier);

/// The losses' bits, since a NaN is unequal to itself.
template <typename Model, typename Optimizer, typename Options>
std::vector<std::uint32_t> lossBits(torch::Device device, const Options& options, bool clips) {
  torch::manual_seed(7);
  Model model;
  model->to(device);
  const Tensor inputs = decltype(model)::Impl::inputs();
  const Tensor labels = torch::randint(0, kClasses, {kSteps, kBatch}, torch::kLong);
  Optimizer optimizer(model->parameters(), options);
  torch::manual_seed(99);
  std::vector<std::uint32_t> losses;
  for (int step = 0; step < kSteps; ++step) {
    const Tensor loss = nn::functional::cross_entropy(model->forward(inputs[step].to(device)),
                                                      labels[step].to(device));
    optimizer.zero_grad();
    loss.backward();
    if (clips) nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    const float value = loss.item<float>();
    REQUIRE(std::isfinite(value));
    std::memcpy(&losses.emplace_back(), &value, sizeof(value));
  }
  return losses;
}

template <typename Model, typename Optimizer, typename Options>
void requireParity(const Options& options, bool clips = false) {
  const auto cpu = lossBits<Model, Optimizer>(torch::kCPU, options, clips);
  const auto mps = lossBits<Model, Optimizer>(torch::Device(torch::kMPS, 0), options, clips);
  REQUIRE(cpu.front() != cpu.back());
  for (int step = 0; step < kSteps; ++step) {
    if (cpu[step] == mps[step]) continue;
    throw checks::Failed("losses differ at step " + std::to_string(step) + ", with " +
                         std::to_string(at::get_num_threads()) + " threads on the CPU");
  }
}

}  // namespace

CHECK_CASE(cnnLossesMatchTheCpu) {
  requireParity<Cnn, optim::SGD>(optim::SGDOptions(0.05).momentum(0.9).weight_decay(1e-4));
}

CHECK_CASE(lstmLossesMatchTheCpu) {
  // Without oneDNN the CPU's LSTM is composed of linear layers, sigmoid and tanh, like the
  // device's; with it, it is one call.
  at::globalContext().setUserEnabledMkldnn(false);
  requireParity<LstmClassifier, optim::Adam>(optim::AdamOptions(3e-3));
}

CHECK_CASE(classifierLossesMatchTheCpu) {
  requireParity<Classifier, optim::AdamW>(optim::AdamWOptions(1e-3));
}

CHECK_CASE(clippedLossesMatchTheCpu) {
  requireParity<Classifier, optim::AdamW>(optim::AdamWOptions(1e-3), /*clips=*/true);
}

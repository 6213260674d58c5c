#include <ATen/Context.h>
#include <torch/torch.h>

#include <cstring>
#include <memory>
#include <vector>

#include "simmps/check.h"

// A small CNN and an LSTM classifier: the losses of 50 steps are bit-identical to the CPU's.
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

using MakeOptimizer = std::unique_ptr<optim::Optimizer> (*)(std::vector<Tensor>);

/// The losses' bits, since a NaN is unequal to itself.
template <typename Model>
std::vector<std::uint32_t> lossBits(torch::Device device, MakeOptimizer makeOptimizer) {
  torch::manual_seed(7);
  Model model;
  model->to(device);
  const Tensor inputs = decltype(model)::Impl::inputs();
  const Tensor labels = torch::randint(0, kClasses, {kSteps, kBatch}, torch::kLong);
  const auto optimizer = makeOptimizer(model->parameters());
  torch::manual_seed(99);
  std::vector<std::uint32_t> losses;
  for (int step = 0; step < kSteps; ++step) {
    const Tensor loss = nn::functional::cross_entropy(model->forward(inputs[step].to(device)),
                                                      labels[step].to(device));
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    const float value = loss.item<float>();
    REQUIRE(std::isfinite(value));
    std::memcpy(&losses.emplace_back(), &value, sizeof(value));
  }
  return losses;
}

template <typename Model>
void requireParity(const char* what, MakeOptimizer makeOptimizer) {
  const auto cpu = lossBits<Model>(torch::kCPU, makeOptimizer);
  const auto mps = lossBits<Model>(torch::Device(torch::kMPS, 0), makeOptimizer);
  REQUIRE(cpu.front() != cpu.back());
  for (int step = 0; step < kSteps; ++step) {
    if (cpu[step] == mps[step]) continue;
    throw checks::Failed(std::string(what) + ": losses differ at step " + std::to_string(step));
  }
}

template <typename Model>
void requireParityOfAll() {
  requireParity<Model>("SGD", [](std::vector<Tensor> parameters) {
    const auto options = optim::SGDOptions(0.05).momentum(0.9).weight_decay(1e-4);
    return std::unique_ptr<optim::Optimizer>(new optim::SGD(std::move(parameters), options));
  });
  requireParity<Model>("Adam", [](std::vector<Tensor> parameters) {
    return std::unique_ptr<optim::Optimizer>(new optim::Adam(std::move(parameters), 3e-3));
  });
  requireParity<Model>("AdamW", [](std::vector<Tensor> parameters) {
    return std::unique_ptr<optim::Optimizer>(new optim::AdamW(std::move(parameters), 3e-3));
  });
}

}  // namespace

CHECK_CASE(cnnLossesMatchTheCpu) {
  requireParityOfAll<Cnn>();
}

CHECK_CASE(lstmLossesMatchTheCpu) {
  // Without oneDNN the CPU's LSTM is composed of linear layers, sigmoid and tanh, like the
  // device's; with it, it is one call.
  at::globalContext().setUserEnabledMkldnn(false);
  requireParityOfAll<LstmClassifier>();
}

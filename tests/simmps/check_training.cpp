#include <ATen/Context.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "simmps/check.h"

// A small transformer classifier with attention written out, as in the sample workload.
namespace {

namespace nn = torch::nn;
using torch::Tensor;

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

struct ClassifierImpl : nn::Module {
  ClassifierImpl(std::int64_t words, std::int64_t length, std::int64_t width, std::int64_t heads,
                 int layers)
      : token(register_module("token", nn::Embedding(words, width))),
        position(register_module("position", nn::Embedding(length, width))),
        blocks(register_module("blocks", nn::ModuleList())),
        head(register_module("head", nn::Linear(width, 3))) {
    for (int i = 0; i < layers; ++i) blocks->push_back(Block(width, heads));
  }

  Tensor forward(const Tensor& tokens) {
    const auto places = torch::arange(tokens.size(1), tokens.options());
    Tensor x = token(tokens) + position(places);
    for (const auto& block : *blocks) x = block->as<Block>()->forward(x);
    return head(x.mean(1));
  }

  nn::Embedding token, position;
  nn::ModuleList blocks;
  nn::Linear head;
};
TORCH_MODULE(Classifier);

struct Run {
  std::vector<float> losses;
  std::vector<double> hostMs;  ///< until everything was submitted
  std::vector<double> stepMs;  ///< until the loss was read
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Run train(torch::Device device, int steps, bool clip, std::int64_t batch, std::int64_t length,
          std::int64_t width, std::int64_t heads) {
  at::globalContext().setSDPUseFlash(false);
  torch::manual_seed(7);
  Classifier model(1000, length, width, heads, 2);
  model->to(device);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-3));
  std::vector<std::pair<Tensor, Tensor>> data;
  for (int i = 0; i < steps; ++i) {
    data.emplace_back(torch::randint(0, 1000, {batch, length}, torch::kLong),
                      torch::randint(0, 3, {batch}, torch::kLong));
  }
  torch::manual_seed(99);
  Run run;
  model->train();
  for (const auto& [texts, labels] : data) {
    const auto start = std::chrono::steady_clock::now();
    const auto x = texts.to(device), y = labels.to(device);
    const auto loss = nn::functional::cross_entropy(model->forward(x), y);
    optimizer.zero_grad();
    loss.backward();
    if (clip) nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    const auto submitted = std::chrono::steady_clock::now();
    run.losses.push_back(loss.item<float>());
    const auto end = std::chrono::steady_clock::now();
    run.stepMs.push_back(std::chrono::duration<double, std::milli>(end - start).count());
    run.hostMs.push_back(std::chrono::duration<double, std::milli>(submitted - start).count());
  }
  return run;
}

void requireSameLosses(bool clip, std::int64_t batch, std::int64_t length, std::int64_t width,
                       std::int64_t heads, int steps = 5) {
  const Run cpu = train(torch::kCPU, steps, clip, batch, length, width, heads);
  const Run mps = train(torch::Device(torch::kMPS, 0), steps, clip, batch, length, width, heads);
  for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
    REQUIRE_EQUAL(std::memcmp(&cpu.losses[i], &mps.losses[i], sizeof(float)), 0);
  }
  REQUIRE(cpu.losses.front() != cpu.losses.back());
}

/// Weights after three steps of a linear layer.
template <typename Optimizer, typename Options>
Tensor optimized(torch::Device device, Options options) {
  torch::manual_seed(7);
  nn::Linear model(6, 4);
  const Tensor x = torch::randn({5, 6}).to(device);
  model->to(device);
  Optimizer optimizer(model->parameters(), options);
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    model(x).pow(2).mean().backward();
    optimizer.step();
  }
  return model->weight.detach().cpu();
}

template <typename Optimizer, typename Options>
bool sameOnBoth(Options options) {
  const torch::Device mps(torch::kMPS, 0);
  return torch::equal(optimized<Optimizer>(torch::kCPU, options),
                      optimized<Optimizer>(mps, options));
}

}  // namespace

CHECK_CASE(optimizersMatchTheCpu) {
  namespace optim = torch::optim;
  REQUIRE(sameOnBoth<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01)));
  REQUIRE(sameOnBoth<optim::Adam>(optim::AdamOptions(0.01).amsgrad(true)));
  REQUIRE(sameOnBoth<optim::AdamW>(optim::AdamWOptions(0.01)));
}

CHECK_CASE(embeddingWithMaxNormMatchesTheCpu) {
  const auto sum = [](torch::Device device) {
    torch::manual_seed(7);
    nn::Embedding embedding(nn::EmbeddingOptions(10, 4).max_norm(1.0));
    embedding->to(device);
    const Tensor out = embedding(torch::tensor({1, 3, 3, 7}).to(device));
    out.pow(2).sum().backward();
    return torch::cat({embedding->weight.detach().cpu(), embedding->weight.grad().cpu()});
  };
  REQUIRE(torch::equal(sum(torch::kCPU), sum(torch::Device(torch::kMPS, 0))));
}

CHECK_CASE(classifierLossesMatchTheCpu) {
  requireSameLosses(false, 8, 32, 64, 4, 50);
}
CHECK_CASE(clippedLossesMatchTheCpu) {
  requireSameLosses(true, 8, 32, 64, 4);
}
CHECK_CASE(presetSmallMatchesTheCpu) {
  requireSameLosses(false, 16, 64, 128, 4);
}

// Not a test: medians of the sample workload's preset "small", device and CPU in ABBA order.
CHECK_CASE(printTimesOfPresetSmall) {
  for (const char* name : {"mps", "cpu", "cpu", "mps"}) {
    const Run run = train(torch::Device(name), 20, false, 16, 64, 128, 4);
    std::printf("%s: host %.2f ms, step %.2f ms\n", name, median(run.hostMs), median(run.stepMs));
  }
}

#include <torch/torch.h>

#include "simmps/check.h"

// Optimizers, and an embedding that changes its weights.
namespace {

namespace nn = torch::nn;
using torch::Tensor;

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

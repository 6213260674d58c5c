#include "worker/training/model.h"

#include <cmath>
#include <string>
#include <utility>

#include "worker/data/tokenizer.h"
#include "worker/training/module_run.h"

namespace highwater::worker {
namespace {

// Not -inf: a row of padding alone must not become NaN.
constexpr double kMasked = -1e9;
constexpr double kEmbeddingScale = 0.02;
constexpr std::int64_t kFeedForwardFactor = 4;

/// Runs `module` under its registered name.
template <typename Module, typename... Arguments>
torch::Tensor run(const char* name, Module& module, Arguments&&... arguments) {
  const ModuleRun running(name);
  return running.output(module(std::forward<Arguments>(arguments)...));
}

}  // namespace

AttentionImpl::AttentionImpl(std::int64_t width, std::int64_t heads) : heads_(heads) {
  query_ = register_module("query", torch::nn::Linear(width, width));
  key_ = register_module("key", torch::nn::Linear(width, width));
  value_ = register_module("value", torch::nn::Linear(width, width));
  out_ = register_module("out", torch::nn::Linear(width, width));
  dropout_ = register_module("dropout", torch::nn::Dropout(kDropout));
}

torch::Tensor AttentionImpl::forward(const torch::Tensor& x, const torch::Tensor& mask) {
  const std::int64_t batch = x.size(0);
  const std::int64_t length = x.size(1);
  const std::int64_t headWidth = x.size(2) / heads_;
  const auto split = [&](const torch::Tensor& t) {
    return t.view({batch, length, heads_, headWidth}).transpose(1, 2);
  };
  const torch::Tensor query = split(run("query", query_, x));
  const torch::Tensor key = split(run("key", key_, x));
  const torch::Tensor value = split(run("value", value_, x));

  const double scale = 1.0 / std::sqrt(static_cast<double>(headWidth));
  const torch::Tensor scores = torch::matmul(query, key.transpose(-2, -1)) * scale + mask;
  const torch::Tensor weights = run("dropout", dropout_, torch::softmax(scores, -1));
  const torch::Tensor mixed = torch::matmul(weights, value);
  return run("out", out_, mixed.transpose(1, 2).reshape({batch, length, heads_ * headWidth}));
}

EncoderLayerImpl::EncoderLayerImpl(std::int64_t width, std::int64_t heads) {
  const torch::nn::LayerNormOptions overWidth({width});
  attentionNorm_ = register_module("attention_norm", torch::nn::LayerNorm(overWidth));
  attention_ = register_module("attention", Attention(width, heads));
  feedForwardNorm_ = register_module("feed_forward_norm", torch::nn::LayerNorm(overWidth));
  widen_ = register_module("widen", torch::nn::Linear(width, kFeedForwardFactor * width));
  narrow_ = register_module("narrow", torch::nn::Linear(kFeedForwardFactor * width, width));
  dropout_ = register_module("dropout", torch::nn::Dropout(kDropout));
}

torch::Tensor EncoderLayerImpl::forward(torch::Tensor x, const torch::Tensor& mask) {
  const torch::Tensor attended =
      run("attention", attention_, run("attention_norm", attentionNorm_, x), mask);
  x = x + run("dropout", dropout_, attended);
  const torch::Tensor wide = run("widen", widen_, run("feed_forward_norm", feedForwardNorm_, x));
  const torch::Tensor fed = run("narrow", narrow_, torch::gelu(wide));
  return x + run("dropout", dropout_, fed);
}

IssueClassifierImpl::IssueClassifierImpl(const ModelSize& size, std::int64_t vocabularySize,
                                         std::int64_t labels) {
  const std::int64_t width = size.width;
  tokens_ = register_module("tokens", torch::nn::Embedding(vocabularySize, width));
  positions_ = register_module("positions", torch::nn::Embedding(size.maxSequenceLength, width));
  dropout_ = register_module("dropout", torch::nn::Dropout(kDropout));
  for (std::uint32_t i = 0; i < size.layers; ++i)
    layers_->push_back(EncoderLayer(width, size.heads));
  register_module("layers", layers_);
  norm_ = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  head_ = register_module("head", torch::nn::Linear(width, labels));

  const torch::NoGradGuard noGrad;
  torch::nn::init::normal_(tokens_->weight, 0, kEmbeddingScale);
  torch::nn::init::normal_(positions_->weight, 0, kEmbeddingScale);
}

torch::Tensor IssueClassifierImpl::forward(const torch::Tensor& ids) {
  const torch::Tensor isToken = ids.ne(kPadToken).to(torch::kFloat32);
  const torch::Tensor mask = ((1.0 - isToken) * kMasked).unsqueeze(1).unsqueeze(1);

  torch::Tensor x = run("tokens", tokens_, ids) + positions_->weight.slice(0, 0, ids.size(1));
  x = run("dropout", dropout_, x);
  x = runLayers(std::move(x), mask);
  x = run("norm", norm_, x);

  const torch::Tensor weights = isToken.unsqueeze(-1);
  const torch::Tensor mean = (x * weights).sum(1) / weights.sum(1).clamp_min(1.0);
  return run("head", head_, mean);
}

torch::Tensor IssueClassifierImpl::runLayers(torch::Tensor x, const torch::Tensor& mask) {
  const ModuleRun layers("layers");
  for (std::size_t i = 0; i < layers_->size(); ++i) {
    const ModuleRun layer(std::to_string(i));
    x = layer.output(layers_->ptr<EncoderLayerImpl>(i)->forward(std::move(x), mask));
  }
  return x;
}

}  // namespace highwater::worker

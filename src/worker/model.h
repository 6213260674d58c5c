#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "worker/options.h"

namespace highwater::worker {

inline constexpr double kDropout = 0.1;

/// Self-attention, written out: its scores are real tensors of batch × heads × length².
class AttentionImpl : public torch::nn::Module {
 public:
  AttentionImpl(std::int64_t width, std::int64_t heads);
  /// `x`: batch × length × width. `mask`: batch × 1 × 1 × length, 0 where a token is and a large
  /// negative number where padding is; it is added to the scores.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask);

 private:
  std::int64_t heads_;
  torch::nn::Linear query_{nullptr}, key_{nullptr}, value_{nullptr}, out_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};
TORCH_MODULE(Attention);

/// One layer of the encoder, layer norm first.
class EncoderLayerImpl : public torch::nn::Module {
 public:
  EncoderLayerImpl(std::int64_t width, std::int64_t heads);
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask);

 private:
  torch::nn::LayerNorm attentionNorm_{nullptr}, feedForwardNorm_{nullptr};
  Attention attention_{nullptr};
  torch::nn::Linear widen_{nullptr}, narrow_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};
TORCH_MODULE(EncoderLayer);

/// Token and position embedding, encoder, mean over the tokens, one logit for each label.
class IssueClassifierImpl : public torch::nn::Module {
 public:
  IssueClassifierImpl(const ModelSize& size, std::int64_t vocabularySize, std::int64_t labels);
  /// `ids`: batch × length, int64, kPadToken after a text's end. Returns batch × labels.
  torch::Tensor forward(const torch::Tensor& ids);

 private:
  torch::Tensor runLayers(torch::Tensor x, const torch::Tensor& mask);

  torch::nn::Embedding tokens_{nullptr}, positions_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  torch::nn::ModuleList layers_;
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear head_{nullptr};
};
TORCH_MODULE(IssueClassifier);

}  // namespace highwater::worker

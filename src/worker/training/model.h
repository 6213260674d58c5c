#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "worker/options.h"

namespace highwater::worker {

/// The share of values that the model's dropout layers drop.
inline constexpr double kDropout = 0.1;

/// A multi-head self-attention layer made of matmul, softmax and matmul, so that the attention
/// scores are real tensors of batch × heads × length².
class AttentionImpl : public torch::nn::Module {
 public:
  /// `width` must be a multiple of `heads`.
  AttentionImpl(std::int64_t width, std::int64_t heads);
  /// Returns the attention output, a tensor of the shape of `x`: batch × length × width. `mask`,
  /// batch × 1 × 1 × length, is added to the scores: 0 for a token, a large negative number for
  /// padding.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask);

 private:
  std::int64_t heads_;
  torch::nn::Linear query_{nullptr}, key_{nullptr}, value_{nullptr}, out_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};
TORCH_MODULE(Attention);

/// A pre-norm encoder layer: attention, then a feed-forward network.
class EncoderLayerImpl : public torch::nn::Module {
 public:
  /// `width` must be a multiple of `heads`.
  EncoderLayerImpl(std::int64_t width, std::int64_t heads);
  /// Returns the layer's output, a tensor of the shape of `x`: batch × length × width. `mask`,
  /// batch × 1 × 1 × length, is 0 for a token and a large negative number for padding.
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask);

 private:
  torch::nn::LayerNorm attentionNorm_{nullptr}, feedForwardNorm_{nullptr};
  Attention attention_{nullptr};
  torch::nn::Linear widen_{nullptr}, narrow_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};
TORCH_MODULE(EncoderLayer);

/// Text classifier: token and position embeddings, encoder layers, mean over the tokens, a linear
/// layer to the logits.
class IssueClassifierImpl : public torch::nn::Module {
 public:
  /// Makes a model for a vocabulary of that many token ids and that many labels.
  IssueClassifierImpl(const ModelSize& size, std::int64_t vocabularySize, std::int64_t labels);
  /// Returns the logits, batch × labels, of `ids`: batch × length, int64, with kPadToken after the
  /// end of a text.
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

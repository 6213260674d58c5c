#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/events_generated.h"

namespace highwater::tuning {

/// The batch size and sequence length of a training step: the two settings that its memory depends
/// on. For inputs without a length `length` is 1.
struct Setting {
  std::uint32_t batch = 0;
  std::uint32_t length = 1;

  [[nodiscard]] bool operator==(const Setting&) const = default;
  /// Rows times positions of a batch.
  [[nodiscard]] std::uint64_t tokens() const { return std::uint64_t{batch} * length; }
};

/// The setting of a finished step.
[[nodiscard]] Setting settingOf(const events::StepRecord& step);

/// Between two factors of a product, as in "32 × 128".
inline constexpr std::string_view kTimes = " \u00d7 ";

/// Formats a setting: "batch 32, length 128", or "batch 32" for length 1.
[[nodiscard]] std::string settingText(Setting setting);

/// The largest size that arithmetic here returns: a product that does not fit into 64 bits is this.
inline constexpr std::uint64_t kTooManyBytes = ~std::uint64_t{0};

/// Multiplies, and returns kTooManyBytes instead of overflowing.
[[nodiscard]] std::uint64_t product(std::uint64_t a, std::uint64_t b);
/// Adds, and returns kTooManyBytes instead of overflowing.
[[nodiscard]] std::uint64_t sum(std::uint64_t a, std::uint64_t b);

/// Bytes of an element by PyTorch's name of its type ("float32", "bfloat16"). 0 for an unknown
/// name.
[[nodiscard]] std::uint64_t bytesOfDtype(std::string_view dtype);

/// What an optimizer keeps beside weights and gradients, in values for each parameter: 2 for Adam
/// and AdamW (the averages of the gradient and of its square), 1 for SGD with momentum, Adagrad and
/// RMSprop, 0 for SGD.
[[nodiscard]] std::uint64_t optimizerValues(std::string_view optimizer);

/// The sizes of a model, as far as they are known before a run. 0 where unknown.
struct ModelSizes {
  std::uint64_t parameters = 0;
  std::uint64_t features = 0;  ///< width of the hidden states
  std::uint64_t heads = 0;     ///< attention heads of a layer
  std::uint64_t layers = 0;
  std::string dtype = "float32";
  std::string optimizer = "AdamW";
};

/// The bytes of a step's tensors by arithmetic, without any measurement. A size that does not fit
/// into 64 bits is kTooManyBytes; one that needs an unknown size of the model is 0.
struct TensorBudget {
  std::uint64_t tokens = 0;     ///< positions of the batch: batch × length
  std::uint64_t hidden = 0;     ///< one hidden state: batch × length × features × bytes of dtype
  std::uint64_t attention = 0;  ///< scores of one layer: batch × heads × length² × bytes of dtype
  std::uint64_t weights = 0;
  std::uint64_t gradients = 0;
  std::uint64_t optimizer = 0;  ///< the optimizer's state

  /// What does not depend on the setting: weights, gradients and the optimizer's state.
  [[nodiscard]] std::uint64_t fixed() const { return sum(sum(weights, gradients), optimizer); }
};

/// Computes the budget of a setting. With an unknown dtype all sizes in bytes are 0.
[[nodiscard]] TensorBudget tensorBudget(Setting setting, const ModelSizes& model);

/// Explains a budget in sentences for people, one a line of the window: the hidden state with its
/// factors ("32 × 128 × 768 float32 = 12.0 MiB"), what half the batch and half the length would do,
/// the attention scores, and weights with optimizer. Lines about unknown sizes are left out.
[[nodiscard]] std::vector<std::string> budgetLines(Setting setting, const ModelSizes& model);

}  // namespace highwater::tuning

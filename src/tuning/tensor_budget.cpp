#include "tuning/tensor_budget.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/units.h"

namespace highwater::tuning {
namespace {

std::string bytesText(std::uint64_t bytes) {
  return bytes == kTooManyBytes ? "more than 16 million TiB" : formatBytes(bytes);
}

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// "half the batch 6.0 MiB, half the length 3.0 MiB".
std::string halvesText(std::uint64_t halfBatch, std::uint64_t halfLength) {
  return "half the batch: " + bytesText(halfBatch) + ", half the length: " + bytesText(halfLength);
}

}  // namespace

Setting settingOf(const events::StepRecord& step) {
  return {step.batch_size(), std::max(1U, step.sequence_length())};
}

std::string settingText(Setting setting) {
  const std::string batch = "batch " + std::to_string(setting.batch);
  return setting.length <= 1 ? batch : batch + ", length " + std::to_string(setting.length);
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > kTooManyBytes / b ? kTooManyBytes : a * b;
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a > kTooManyBytes - b ? kTooManyBytes : a + b;
}

std::uint64_t bytesOfDtype(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 13> kSizes{{{"float64", 8},
                                                                               {"float32", 4},
                                                                               {"float16", 2},
                                                                               {"bfloat16", 2},
                                                                               {"int64", 8},
                                                                               {"int32", 4},
                                                                               {"int16", 2},
                                                                               {"int8", 1},
                                                                               {"uint8", 1},
                                                                               {"bool", 1},
                                                                               {"float", 4},
                                                                               {"half", 2},
                                                                               {"double", 8}}};
  if (dtype.starts_with("torch.")) dtype.remove_prefix(6);
  const auto found = std::find_if(kSizes.begin(), kSizes.end(),
                                  [dtype](const auto& each) { return each.first == dtype; });
  return found == kSizes.end() ? 0 : found->second;
}

std::uint64_t optimizerValues(std::string_view optimizer) {
  // Of several optimizers the one that keeps most: which parameters are whose is not known.
  if (const std::size_t end = optimizer.find(", "); end != std::string_view::npos) {
    return std::max(optimizerValues(optimizer.substr(0, end)),
                    optimizerValues(optimizer.substr(end + 2)));
  }
  const std::string name = lowerCase(optimizer);
  if (name.find("adam") != std::string::npos || name == "adadelta") return 2;
  if (name == "adagrad" || name == "rmsprop" || name == "lion" ||
      name.find("momentum") < name.size())
    return 1;
  return 0;
}

TensorBudget tensorBudget(Setting setting, const ModelSizes& model) {
  const std::uint64_t element = bytesOfDtype(model.dtype);
  TensorBudget budget;
  budget.tokens = setting.tokens();
  budget.hidden = product(product(budget.tokens, model.features), element);
  budget.attention = product(product(product(budget.tokens, setting.length), model.heads), element);
  budget.weights = product(model.parameters, element);
  budget.gradients = budget.weights;
  budget.optimizer = product(budget.weights, optimizerValues(model.optimizer));
  return budget;
}

std::vector<std::string> budgetLines(Setting setting, const ModelSizes& model) {
  const TensorBudget budget = tensorBudget(setting, model);
  const TensorBudget halfBatch = tensorBudget({setting.batch / 2, setting.length}, model);
  const TensorBudget halfLength = tensorBudget({setting.batch, setting.length / 2}, model);
  const bool isSequence = setting.length > 1;
  std::vector<std::string> lines;
  const std::string batch = std::to_string(setting.batch), length = std::to_string(setting.length);
  const auto times = [](const std::string& a, const std::string& b) {
    return a + std::string(kTimes) + b;
  };
  if (isSequence) {
    lines.push_back("Token positions: " + times(batch, length) + " = " +
                    std::to_string(budget.tokens));
  }
  if (budget.hidden > 0) {
    const std::string shape = isSequence ? times(batch, length) : batch;
    lines.push_back(
        "A hidden state: " + times(shape, std::to_string(model.features)) + ' ' + model.dtype +
        " = " + bytesText(budget.hidden) +
        (isSequence ? " (" + halvesText(halfBatch.hidden, halfLength.hidden) + ')' : ""));
  }
  if (budget.attention > 0 && isSequence) {
    lines.push_back(
        "Attention scores of a layer: " + times(times(batch, std::to_string(model.heads)), length) +
        "\u00b2 " + model.dtype + " = " + bytesText(budget.attention) + " (" +
        halvesText(halfBatch.attention, halfLength.attention) + ')');
  }
  if (budget.weights > 0) {
    lines.push_back("Weights " + bytesText(budget.weights) + ", gradients " +
                    bytesText(budget.gradients) + ", optimizer state " +
                    bytesText(budget.optimizer) + ": " + bytesText(budget.fixed()) +
                    " at any setting");
  }
  return lines;
}

}  // namespace highwater::tuning

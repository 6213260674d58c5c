#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"
#include "core/run_limits.h"

namespace highwater::worker {

/// A size of a tensor in a model file: a number, or one of the run's knobs times a number.
struct FileSize {
  enum class Of : std::uint8_t { kNumber, kBatch, kLength };
  Of of = Of::kNumber;
  std::int64_t factor = 1;

  /// The size with these knobs.
  [[nodiscard]] std::int64_t with(std::uint32_t batch, std::uint32_t length) const;
};

/// A tensor of random values that a model file describes.
struct FileTensor {
  enum class Type : std::uint8_t { kInt64, kInt32, kBool, kFloat32 };
  std::vector<FileSize> shape;
  Type type = Type::kFloat32;
  /// Integers from low to high - 1. Floats are uniform from low to high, or of the standard normal
  /// distribution where `normal` is set.
  double low = 0, high = 1;
  bool normal = false;
};

/// The functions that compute a loss of an output and a target. kOfModel: the output is the loss.
enum class FileLoss : std::uint8_t {
  kCrossEntropy,
  kNll,
  kMse,
  kL1,
  kSmoothL1,
  kBinaryCrossEntropy,
  kOfModel,
};

/// What to call a model with and how to train it: the JSON file beside a TorchScript file.
/// docs/own-model.md describes the format.
struct ModelFile {
  std::vector<FileTensor> inputs;
  std::optional<FileTensor> target;  ///< none with FileLoss::kOfModel
  FileLoss loss = FileLoss::kCrossEntropy;
  /// Which of several outputs the loss is computed of: an index of a tuple or list, or a key of a
  /// dictionary.
  std::variant<std::size_t, std::string> output = std::size_t{0};
  std::string optimizer = "adamw";  ///< adamw, adam or sgd
  double learningRate = 1e-3;
  std::uint32_t batchSize = 16;
  std::uint32_t length = 64;                       ///< 1 where no shape has a length
  std::uint32_t maxLength = kPositionTableLength;  ///< 1 where no shape has a length
};

/// The JSON file that belongs to a TorchScript file: "model.json" beside "model.pt".
[[nodiscard]] std::filesystem::path descriptionOf(const std::filesystem::path& model);

/// Reads the JSON file beside the TorchScript file `model`. Returns kNotFound where there is none,
/// kNoPermission where it cannot be read, and kMalformed, naming the key, where a key is unknown or
/// absent or a value is none that is possible.
[[nodiscard]] Result<ModelFile> loadModelFile(const std::filesystem::path& model);
/// The same from the text of the JSON file, which messages call `name`.
[[nodiscard]] Result<ModelFile> parseModelFile(std::string_view text, const std::string& name);

}  // namespace highwater::worker

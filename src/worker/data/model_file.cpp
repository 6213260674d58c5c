#include "worker/data/model_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/model_files.h"
#include "core/plain_text.h"

namespace highwater::worker {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostTensors = 16, kMostDimensions = 8;
constexpr std::int64_t kLargestSize = 1 << 24;
constexpr std::uintmax_t kMostFileBytes = 1 << 20;
constexpr double kLargestRate = 10;

template <typename T, std::size_t n>
using Words = std::array<std::pair<std::string_view, T>, n>;

constexpr Words<FileTensor::Type, 4> kTypes = {{{"int64", FileTensor::Type::kInt64},
                                                {"int32", FileTensor::Type::kInt32},
                                                {"bool", FileTensor::Type::kBool},
                                                {"float32", FileTensor::Type::kFloat32}}};
// The names of torch.nn.functional.
constexpr Words<FileLoss, 7> kLosses = {
    {{"cross_entropy", FileLoss::kCrossEntropy},
     {"nll_loss", FileLoss::kNll},
     {"mse_loss", FileLoss::kMse},
     {"l1_loss", FileLoss::kL1},
     {"smooth_l1_loss", FileLoss::kSmoothL1},
     {"binary_cross_entropy_with_logits", FileLoss::kBinaryCrossEntropy},
     {"of_model", FileLoss::kOfModel}}};
constexpr Words<int, 3> kOptimizers = {{{"adamw", 0}, {"adam", 1}, {"sgd", 2}}};

template <typename T, std::size_t n>
std::string listOf(const Words<T, n>& words) {
  std::string list;
  for (const auto& [word, value] : words) list += (list.empty() ? "" : ", ") + std::string(word);
  return list;
}

/// Quotes a value for a message, shortened. Lists and objects may nest too deep to be written.
std::string quoted(const Json& value) {
  constexpr std::size_t kShown = 40;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return plainText(text);
}

/// Reads the parts of the file and keeps the first error.
class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] Result<ModelFile> read(const Json& json) {
    ModelFile file;
    if (!json.is_object()) return error(" is no JSON object");
    checkKeys(json, "",
              {"inputs", "target", "loss", "output", "optimizer", "learning_rate", "batch_size",
               "length", "max_length"});
    readInputs(json, file);
    file.loss = word(json, "loss", kLosses, true, FileLoss::kCrossEntropy);
    readTarget(json, file);
    readOutput(json, file);
    (void)word(json, "optimizer", kOptimizers, false, 0);
    if (json.contains("optimizer") && json["optimizer"].is_string()) {
      file.optimizer = json["optimizer"].get<std::string>();
    }
    if (json.contains("learning_rate")) {
      file.learningRate = number(json["learning_rate"], "learning_rate");
      if (!(file.learningRate > 0 && file.learningRate <= kLargestRate)) {
        fail("\"learning_rate\" is " + quoted(json["learning_rate"]) +
             "; allowed is more than 0, up to 10");
      }
    }
    readKnobs(json, file);
    if (!problem_.empty()) return error(problem_);
    return file;
  }

 private:
  [[nodiscard]] Error error(const std::string& what) const {
    return {ErrorCode::kMalformed, '"' + plainText(name_) + '"' + what};
  }
  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = ": " + what;
  }

  void checkKeys(const Json& object, const std::string& where,
                 std::initializer_list<std::string_view> known) {
    std::string list;
    for (const std::string_view key : known) {
      list += (list.empty() ? "" : ", ") + std::string(key);
    }
    for (const auto& [key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      fail(where + "the key \"" + plainText(key) + "\" is unknown; there are " + list);
    }
  }

  double number(const Json& value, const std::string& what) {
    if (value.is_number()) return value.get<double>();
    fail('"' + what + "\" is " + quoted(value) + ", not a number");
    return std::numeric_limits<double>::quiet_NaN();
  }

  std::int64_t whole(const Json& value, const std::string& what, std::int64_t least,
                     std::int64_t most) {
    const bool fits = value.is_number_integer() && value.get<double>() >= double(least) &&
                      value.get<double>() <= double(most);
    if (fits) return value.get<std::int64_t>();
    fail(what + " is " + quoted(value) + "; allowed are " + std::to_string(least) + " to " +
         std::to_string(most));
    return least;
  }

  template <typename T, std::size_t n>
  T word(const Json& object, const char* key, const Words<T, n>& words, bool required, T absent,
         const std::string& where = "") {
    if (!object.contains(key)) {
      if (required) fail(where + '"' + key + "\" is missing; it is one of " + listOf(words));
      return absent;
    }
    const Json& value = object[key];
    for (const auto& [text, meaning] : words) {
      if (value.is_string() && value.get_ref<const std::string&>() == text) return meaning;
    }
    fail(where + '"' + key + "\" is " + quoted(value) + "; it is one of " + listOf(words));
    return absent;
  }

  void readInputs(const Json& json, ModelFile& file) {
    const bool has = json.contains("inputs") && json["inputs"].is_array() &&
                     !json["inputs"].empty() && json["inputs"].size() <= kMostTensors;
    if (!has) {
      fail("\"inputs\" is missing, or no list of 1 to " + std::to_string(kMostTensors) +
           " tensors, such as {\"shape\": [\"batch\", 20], \"dtype\": \"float32\"}");
      return;
    }
    for (std::size_t i = 0; i < json["inputs"].size(); ++i) {
      file.inputs.push_back(tensor(json["inputs"][i], "input " + std::to_string(i) + ": "));
    }
  }

  void readTarget(const Json& json, ModelFile& file) {
    if (file.loss == FileLoss::kOfModel) {
      if (json.contains("target")) {
        fail("\"target\" has no use with the loss of_model: give it as an input");
      }
    } else if (json.contains("target")) {
      file.target = tensor(json["target"], "target: ");
    } else {
      fail("\"target\" is missing: what the loss compares the output with");
    }
  }

  void readOutput(const Json& json, ModelFile& file) {
    if (!json.contains("output")) return;
    const Json& output = json["output"];
    if (output.is_string()) {
      file.output = output.get<std::string>();
    } else {
      file.output = static_cast<std::size_t>(
          whole(output, "\"output\", where it is no key of a dictionary,", 0, 63));
    }
  }

  void readKnobs(const Json& json, ModelFile& file) {
    const auto knob = [&](const char* key, std::uint32_t& value, std::uint32_t most) {
      if (!json.contains(key)) return;
      value = static_cast<std::uint32_t>(
          whole(json[key], '"' + std::string(key) + '"', 1, std::int64_t{most}));
    };
    knob("batch_size", file.batchSize, kMostBatchSize);
    if (!hasLength_) {
      for (const char* key : {"length", "max_length"}) {
        if (json.contains(key)) {
          fail('"' + std::string(key) + "\" is given, but no shape has a \"length\"");
        }
      }
      file.length = file.maxLength = 1;
      return;
    }
    knob("max_length", file.maxLength, kLongestModelLength);
    file.length = std::min(file.length, file.maxLength);
    knob("length", file.length, file.maxLength);
  }

  FileTensor tensor(const Json& json, const std::string& where) {
    FileTensor tensor;
    if (!json.is_object()) {
      fail(where + quoted(json) + " is no object with shape and dtype");
      return tensor;
    }
    checkKeys(json, where, {"shape", "dtype", "low", "high"});
    tensor.type = word(json, "dtype", kTypes, true, FileTensor::Type::kFloat32, where);
    readShape(json, where, tensor);
    readRange(json, where, tensor);
    return tensor;
  }

  void readShape(const Json& json, const std::string& where, FileTensor& tensor) {
    if (!json.contains("shape") || !json["shape"].is_array() ||
        json["shape"].size() > kMostDimensions) {
      fail(where + "\"shape\" is missing, or no list of up to " + std::to_string(kMostDimensions) +
           " sizes: numbers, \"batch\" and \"length\"");
      return;
    }
    for (const Json& size : json["shape"]) tensor.shape.push_back(sizeOf(size, where));
  }

  /// A number, "batch", "length", or "4*batch".
  FileSize sizeOf(const Json& json, const std::string& where) {
    FileSize size;
    if (!json.is_string()) {
      size.factor = whole(json, where + "a size in \"shape\"", 1, kLargestSize);
      return size;
    }
    std::string_view text = json.get_ref<const std::string&>();
    if (const auto star = text.find('*'); star != std::string_view::npos) {
      const Json factor = Json::parse(text.substr(0, star), nullptr, false);
      size.factor = whole(factor, where + "the factor of " + quoted(json), 1, kLargestSize);
      text.remove_prefix(star + 1);
    }
    if (text == "batch") {
      size.of = FileSize::Of::kBatch;
    } else if (text == "length") {
      size.of = FileSize::Of::kLength;
      hasLength_ = true;
    } else {
      fail(where + "the size " + quoted(json) +
           " in \"shape\" is unknown; there are \"batch\", \"length\", multiples such as "
           "\"2*length\", and numbers");
    }
    return size;
  }

  void readRange(const Json& json, const std::string& where, FileTensor& tensor) {
    const bool isFloat = tensor.type == FileTensor::Type::kFloat32;
    if (tensor.type == FileTensor::Type::kBool) {
      if (json.contains("low") || json.contains("high")) {
        fail(where + "a bool has neither \"low\" nor \"high\"");
      }
      tensor.high = 2;
      return;
    }
    tensor.normal = isFloat && !json.contains("low") && !json.contains("high");
    if (tensor.normal) return;
    if (!json.contains("high")) {
      fail(where + "\"high\" is missing: values are below it");
      return;
    }
    if (json.contains("low")) tensor.low = number(json["low"], "low");
    tensor.high = number(json["high"], "high");
    const bool isWhole =
        tensor.low == std::floor(tensor.low) && tensor.high == std::floor(tensor.high);
    if (!isFloat && !isWhole) fail(where + "\"low\" and \"high\" of integers are whole numbers");
    constexpr double kMost = 1 << 30;
    if (!(tensor.low < tensor.high && tensor.low >= -kMost && tensor.high <= kMost)) {
      fail(where + "\"low\" is not below \"high\", or they are beyond 2^30");
    }
  }

  std::string name_;
  std::string problem_;
  bool hasLength_ = false;
};

/// The keys of a JSON text while it is parsed.
class KeyWatch {
 public:
  void see(Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) {
      objects_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      objects_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      last_ = value.get<std::string>();
      // Of two values the parser would silently take the last.
      if (!objects_.back().insert(last_).second && !repeated_) repeated_ = last_;
    }
  }
  [[nodiscard]] const std::string& last() const { return last_; }
  /// A key that an object has twice, if there is one.
  [[nodiscard]] const std::optional<std::string>& repeated() const { return repeated_; }

 private:
  std::vector<std::set<std::string>> objects_;  ///< the keys of those that are open
  std::string last_;
  std::optional<std::string> repeated_;
};

}  // namespace

std::int64_t FileSize::with(std::uint32_t batch, std::uint32_t length) const {
  switch (of) {
    case Of::kBatch:
      return factor * batch;
    case Of::kLength:
      return factor * length;
    default:
      return factor;
  }
}

std::filesystem::path descriptionOf(const std::filesystem::path& model) {
  std::filesystem::path json = model;
  return json.replace_extension(".json");
}

Result<ModelFile> loadModelFile(const std::filesystem::path& model) {
  const std::filesystem::path path = descriptionOf(model);
  const std::string name = plainText(path.string());
  std::error_code failed;
  if (!std::filesystem::exists(model, failed)) {
    return Error{ErrorCode::kNotFound,
                 "the model \"" + plainText(model.string()) + "\" does not exist"};
  }
  // Reading a pipe waits for ever, and a device may have no end.
  if (!std::filesystem::is_regular_file(model, failed)) {
    return Error{ErrorCode::kMalformed, "the model \"" + plainText(model.string()) +
                                            "\" is no regular file; name a TorchScript file"};
  }
  if (!std::filesystem::is_regular_file(path, failed)) {
    return Error{ErrorCode::kNotFound, "the model needs a file \"" + name +
                                           "\" beside it, which says what to call it with: see "
                                           "docs/own-model.md"};
  }
  const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
  if (!failed && bytes > kMostFileBytes) {
    return Error{ErrorCode::kMalformed, '"' + name + "\" is larger than 1 MiB"};
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof()) {
    return Error{ErrorCode::kNoPermission, '"' + name + "\" cannot be read"};
  }
  return parseModelFile(text, path.filename().string());
}

Result<ModelFile> parseModelFile(std::string_view text, const std::string& name) {
  const std::string file = '"' + plainText(name) + '"';
  KeyWatch keys;
  try {
    const Json json = Json::parse(text, [&keys](int, Json::parse_event_t event, const Json& value) {
      keys.see(event, value);
      return true;
    });
    if (keys.repeated()) {
      return Error{ErrorCode::kMalformed,
                   file + ": the key \"" + plainText(*keys.repeated()) + "\" is given twice"};
    }
    return Reader(name).read(json);
  } catch (const Json::parse_error& error) {
    return Error{ErrorCode::kMalformed,
                 file + " is no JSON: the error is at byte " + std::to_string(error.byte)};
  } catch (const Json::out_of_range&) {
    return Error{ErrorCode::kMalformed,
                 file + ": a number of \"" + plainText(keys.last()) + "\" is too large"};
  }
}

}  // namespace highwater::worker

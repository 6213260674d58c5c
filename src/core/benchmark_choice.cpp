#include "core/benchmark_choice.h"

#include <algorithm>
#include <utility>

#include "core/knobs.h"
#include "core/option_values.h"

namespace highwater {
namespace {

constexpr std::pair<const char*, bool BenchmarkChoice::*> kParts[] = {
    {"matmul", &BenchmarkChoice::matmul},
    {"step", &BenchmarkChoice::step},
    {"drift", &BenchmarkChoice::drift}};

Result<void> readParts(const char* name, const std::string& text, BenchmarkChoice& choice) {
  for (const auto& [part, member] : kParts) choice.*member = false;
  for (const std::string& word : commaParts(text)) {
    const auto* found = std::find_if(std::begin(kParts), std::end(kParts),
                                     [&](const auto& part) { return part.first == word; });
    if (found == std::end(kParts)) {
      return refusedValue(name, text, "matmul, step or drift, or some of them with commas");
    }
    choice.*found->second = true;
  }
  return {};
}

Result<Precision> readType(const char* name, const std::string& text) {
  const Precision type = precisionFromName(text);
  if (type != Precision::kUnknown) return type;
  if (text == "float64") {
    return usageError(std::string(name) +
                      " float64 does not exist on MPS; give float32, bfloat16 or float16");
  }
  return refusedValue(name, text, "float32, bfloat16 or float16");
}

void addWord(std::string& list, std::string_view word) {
  if (!list.empty()) list += ',';
  list += word;
}

}  // namespace

Result<void> readBenchmarkChoice(const BenchmarkNames& names, const BenchmarkTexts& texts,
                                 BenchmarkChoice& choice) {
  BenchmarkWords words{choice, {}, {}, {}};
  if (auto read = readOptions(benchmarkRows(names), texts.options, words); !read) return read;
  choice = static_cast<const BenchmarkChoice&>(words);
  if (!words.parts.empty()) {
    if (auto read = readParts(names.parts, words.parts, choice); !read) return read;
  }
  for (const std::string& text : texts.shapes) {
    const auto shape = parseMatmulShape("--matmul", text);
    if (!shape) return shape.error();
    choice.shapes.push_back(*shape);
  }
  for (const std::string& text :
       words.types.empty() ? std::vector<std::string>() : commaParts(words.types)) {
    const auto type = readType(names.types, text);
    if (!type) return type.error();
    choice.dtypes.push_back(*type);
  }
  if (words.mpsType.empty()) return {};
  const auto type = readType("--mps-precision", words.mpsType);
  if (!type) return type.error();
  choice.mpsPrecision = *type;
  return {};
}

BenchmarkWords benchmarkWords(const BenchmarkChoice& choice) {
  BenchmarkWords words{choice, {}, {}, {}};
  for (const auto& [part, member] : kParts) {
    if (choice.*member) addWord(words.parts, part);
  }
  for (const Precision type : choice.dtypes) addWord(words.types, precisionName(type));
  const bool isOpen = choice.mpsPrecision == Precision::kUnknown;
  if (!isOpen) words.mpsType = precisionName(choice.mpsPrecision);
  return words;
}

}  // namespace highwater

#include "worker/checks/benchmark/benchmark_options.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "core/knobs.h"
#include "core/option_values.h"

namespace highwater::worker {
namespace {

constexpr std::uint32_t kMostCalls = 100'000;
constexpr std::uint32_t kMostRounds = 1000;

Result<void> readWhole(const char* name, const std::string& text, std::uint32_t most,
                       std::uint32_t& target) {
  if (text.empty()) return {};
  const auto value = parseWhole<std::uint32_t>(name, text, 1U, most);
  if (!value) return value.error();
  target = *value;
  return {};
}

/// The parts of a text between commas.
std::vector<std::string_view> listOf(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    words.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return words;
}

Result<void> readParts(const std::string& text, BenchmarkOptions& options) {
  for (const std::string_view part : listOf(text)) {
    if (part == "matmul") {
      options.matmul = true;
    } else if (part == "step") {
      options.step = true;
    } else if (part == "drift") {
      options.drift = true;
    } else {
      return refusedValue("--benchmark", text, "some of matmul, step and drift, with commas");
    }
  }
  return {};
}

Result<Precision> readPrecision(const char* name, std::string_view text) {
  const Precision precision = precisionFromName(text);
  if (precision != Precision::kUnknown) return precision;
  if (text == "float64") return usageError(std::string(name) + " float64 does not exist on MPS");
  return refusedValue(name, text, "float32, bfloat16 or float16");
}

}  // namespace

void addBenchmarkOptions(CLI::App& app, BenchmarkTexts& texts) {
  app.add_option("--benchmark", texts.parts,
                 "Measure the CPU against MPS and print JSON lines: matmul, step, drift");
  app.add_option("--matmul", texts.shapes, "A product to measure, MxKxN")->take_all()->expected(1);
  app.add_option("--matmul-dtype", texts.dtypes, "Types of the products, with commas");
  app.add_option("--calls", texts.calls, "Products of a measurement");
  app.add_option("--steps-per-measurement", texts.steps, "Training steps of a measurement");
  app.add_option("--rounds", texts.rounds, "Blocks of four measurements: CPU, MPS, MPS, CPU");
  app.add_option("--mps-precision", texts.mpsPrecision,
                 "Precision of the model on MPS, where it differs from --precision");
}

Result<BenchmarkOptions> readBenchmarkOptions(const BenchmarkTexts& texts) {
  BenchmarkOptions options;
  if (auto read = readParts(texts.parts, options); !read) return read.error();
  if (!texts.shapes.empty()) options.shapes.clear();
  for (const std::string& text : texts.shapes) {
    const auto shape = parseMatmulShape("--matmul", text);
    if (!shape) return shape.error();
    options.shapes.push_back(*shape);
  }
  if (!texts.dtypes.empty()) {
    options.dtypes.clear();
    for (const std::string_view text : listOf(texts.dtypes)) {
      const auto dtype = readPrecision("--matmul-dtype", text);
      if (!dtype) return dtype.error();
      options.dtypes.push_back(*dtype);
    }
  }
  if (!texts.mpsPrecision.empty()) {
    const auto precision = readPrecision("--mps-precision", texts.mpsPrecision);
    if (!precision) return precision.error();
    options.mpsPrecision = *precision;
  }
  if (auto read = readWhole("--calls", texts.calls, kMostCalls, options.calls); !read) {
    return read.error();
  }
  if (auto read = readWhole("--steps-per-measurement", texts.steps, kMostCalls, options.steps);
      !read) {
    return read.error();
  }
  options.allRounds = !texts.rounds.empty();
  if (auto read = readWhole("--rounds", texts.rounds, kMostRounds, options.rounds); !read) {
    return read.error();
  }
  return options;
}

}  // namespace highwater::worker

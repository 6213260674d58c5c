#include "cli/benchmark_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/options.h"
#include "core/knobs.h"
#include "core/matmul_shape.h"
#include "core/option_values.h"
#include "core/scenarios.h"

namespace highwater::cli {
namespace {

constexpr std::uint32_t kMostCalls = 100'000, kMostRounds = 1000;
constexpr std::size_t kMostCases = 32;

std::vector<std::string> listOf(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    words.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return words;
}

Result<void> readWhole(const char* name, const std::string& text, std::uint32_t most,
                       std::uint32_t& target) {
  if (text.empty()) return {};
  auto value = parseWhole<std::uint32_t>(name, text, 1U, most);
  if (!value) return value.error();
  target = *value;
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

Result<void> readParts(const std::string& only, session::BenchmarkRunOptions& options) {
  if (only.empty()) return {};
  options.matmul = options.step = options.drift = false;
  for (const std::string& part : listOf(only)) {
    if (part == "matmul") {
      options.matmul = true;
    } else if (part == "step") {
      options.step = true;
    } else if (part == "drift") {
      options.drift = true;
    } else {
      return refusedValue("--only", only, "matmul, step or drift, or some of them with commas");
    }
  }
  return {};
}

Result<void> readProducts(const BenchmarkTexts& texts, session::BenchmarkRunOptions& options) {
  for (const std::string& text : texts.shapes) {
    const auto shape = parseMatmulShape("--matmul", text);
    if (!shape) return shape.error();
    options.shapes.push_back(*shape);
  }
  for (const std::string& text :
       texts.dtypes.empty() ? std::vector<std::string>() : listOf(texts.dtypes)) {
    const auto type = readType("--dtype", text);
    if (!type) return type.error();
    options.dtypes.push_back(*type);
  }
  const std::size_t cases = std::max<std::size_t>(options.shapes.size(), 1) *
                            std::max<std::size_t>(options.dtypes.size(), 1);
  if (cases > kMostCases) {
    return usageError("--matmul and --dtype make " + std::to_string(cases) +
                      " products; give at most " + std::to_string(kMostCases));
  }
  const bool asks = !options.shapes.empty() || !options.dtypes.empty();
  if (asks && !options.matmul) {
    return usageError("--matmul and --dtype are of products, which --only " + texts.only +
                      " leaves out");
  }
  return {};
}

}  // namespace

void addBenchmarkOptions(CLI::App& app, BenchmarkTexts& texts) {
  const auto add = [&app](const char* name, std::string& text, const std::string& help,
                          const char* type) {
    auto* option = app.add_option(name, text, help)->type_name(type);
    if (!text.empty()) option->capture_default_str();
  };
  add("--only", texts.only, "Parts to measure: matmul, step, drift; default: all", "PART,...");
  app.add_option("--matmul", texts.shapes,
                 "A product of M x K and K x N to measure; may be repeated (default "
                 "1000x1000x1000)")
      ->type_name("MxKxN")
      ->type_size(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add("--dtype", texts.dtypes, "Types of the products: float32 (default), bfloat16, float16",
      "TYPE,...");
  add("--calls", texts.calls, "Products of a measurement (default 100)", "N");
  add("--steps", texts.steps, "Training steps of a measurement (default 5)", "N");
  add("--rounds", texts.rounds,
      "Rounds of CPU, MPS, MPS, CPU; default: 6, fewer where they take over 20 s", "N");
  add("--device", texts.run.device, "auto, mps or sim (simulated mps)", "NAME");
  app.add_option("--workload", texts.run.workload,
                 "issue-classifier (default) or a TorchScript file")
      ->type_name("NAME");
  add("--scenario", texts.run.scenario,
      "A training program with one known problem: " + scenarioNames(), "NAME");
  add("--preset", texts.run.preset, "Size of the model: small or base", "NAME");
  add("--data", texts.run.data, "CSV file with the columns text and label", "FILE");
  add("--batch", texts.run.batch, batchHelp(), "N");
  add("--seq", texts.run.seq, lengthHelp(), "N");
  add("--precision", texts.run.precision,
      "Type of the forward pass: float32, or bfloat16 or float16 by autocast", "TYPE");
  add("--mps-precision", texts.mpsPrecision, "The same on MPS alone, to see what it would change",
      "TYPE");
  add("--seed", texts.run.seed, "Seed of weights, batches and products", "N");
  texts.run.sim.addTo(app);
  app.footer(
      "A step trains batches of --batch and --seq, and reads no loss. The drift is measured on the "
      "same weights and batches, without dropout. Exit codes: 0 done, 1 something was not "
      "measured, "
      "2 wrong usage, 3 interrupted.");
}

Result<void> readBenchmarkOptions(const BenchmarkTexts& texts, BenchmarkCommandOptions& options) {
  if (texts.run.device == "cpu") {
    return usageError(
        "a benchmark compares the CPU with MPS, and --device cpu leaves nothing to compare with; "
        "give --device mps, sim or auto");
  }
  auto launch = readRunOptions(texts.run);
  if (!launch) return launch.error();
  session::BenchmarkRunOptions& run = options.run;
  run.launch = std::move(*launch);
  if (auto read = readParts(texts.only, run); !read) return read;
  if (auto read = readProducts(texts, run); !read) return read;
  if (!texts.mpsPrecision.empty()) {
    const auto type = readType("--mps-precision", texts.mpsPrecision);
    if (!type) return type.error();
    run.mpsPrecision = *type;
  }
  if (auto read = readWhole("--calls", texts.calls, kMostCalls, run.calls); !read) return read;
  if (auto read = readWhole("--steps", texts.steps, kMostCalls, run.steps); !read) return read;
  return readWhole("--rounds", texts.rounds, kMostRounds, run.rounds);
}

}  // namespace highwater::cli

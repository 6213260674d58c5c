#include "cli/benchmark_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/options.h"

namespace highwater::cli {
namespace {

constexpr std::size_t kMostCases = 32;

Result<void> checkProducts(const BenchmarkChoice& options, const std::string& only) {
  const std::size_t cases = std::max<std::size_t>(options.shapes.size(), 1) *
                            std::max<std::size_t>(options.dtypes.size(), 1);
  if (cases > kMostCases) {
    return usageError("--matmul and --dtype make " + std::to_string(cases) +
                      " products; give at most " + std::to_string(kMostCases));
  }
  const bool asks = !options.shapes.empty() || !options.dtypes.empty();
  if (asks && !options.matmul) {
    return usageError("--matmul and --dtype are of products, which --only " + only + " leaves out");
  }
  return {};
}

}  // namespace

void addBenchmarkOptions(CLI::App& app, BenchmarkCommandTexts& texts) {
  addBenchmarkOptions(app, kBenchmarkNames, texts.benchmark);
  app.get_option(kBenchmarkNames.parts)
      ->description("Parts to measure: matmul, step, drift; default: all");
  const char* const group = app.get_help_ptr()->get_group().c_str();
  addSomeRunOptions(
      app, texts.run,
      {"--device", "--scenario", "--preset", "--data", "--batch", "--seq", "--precision", "--seed"},
      group);
  app.get_option("--device")->description("auto, mps or sim (simulated mps)");
  texts.run.sim.addTo(app);
  app.footer(
      "A step trains batches of --batch and --seq, and reads no loss. The drift is measured on the "
      "same weights and batches, without dropout. Exit codes: 0 done, 1 something was not "
      "measured, "
      "2 wrong usage, 3 interrupted.");
}

Result<void> readBenchmarkOptions(const BenchmarkCommandTexts& texts,
                                  BenchmarkCommandOptions& options) {
  auto launch = readRunOptions(texts.run);
  if (!launch) return launch.error();
  if (launch->device == "cpu") {
    return usageError(
        "a benchmark compares the CPU with MPS, and --device cpu leaves nothing to compare with; "
        "give --device mps, sim or auto");
  }
  options.run.launch = std::move(*launch);
  auto read = readBenchmarkChoice(kBenchmarkNames, texts.benchmark, options.run);
  return read ? checkProducts(options.run, texts.benchmark.options.at("--only")) : read;
}

}  // namespace highwater::cli

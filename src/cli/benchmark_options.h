#pragma once

#include "cli/run_options.h"
#include "core/benchmark_choice.h"
#include "core/result.h"

namespace CLI {
class App;
}

namespace highwater::cli {

struct BenchmarkCommandOptions;

/// The options of `highwater benchmark` as given. readBenchmarkOptions() converts them.
struct BenchmarkCommandTexts {
  RunTexts run;
  BenchmarkTexts benchmark;
};

/// Adds the options of a benchmark to `app`; parsing fills `texts`.
void addBenchmarkOptions(CLI::App& app, BenchmarkCommandTexts& texts);

/// Converts the options and checks them. Fails with kUsage; the message names the option and what
/// it allows.
[[nodiscard]] Result<void> readBenchmarkOptions(const BenchmarkCommandTexts& texts,
                                                BenchmarkCommandOptions& options);

}  // namespace highwater::cli

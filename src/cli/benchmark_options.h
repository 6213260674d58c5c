#pragma once

#include <string>
#include <vector>

#include "cli/run_options.h"
#include "core/result.h"

namespace CLI {
class App;
}

namespace highwater::cli {

struct BenchmarkCommandOptions;

/// The options of `highwater benchmark` as given. readBenchmarkOptions() converts them.
struct BenchmarkTexts {
  RunTexts run;
  std::string only, dtypes, mpsPrecision, calls, steps, rounds;
  std::vector<std::string> shapes;
};

/// Adds the options of a benchmark to `app`; parsing fills `texts`.
void addBenchmarkOptions(CLI::App& app, BenchmarkTexts& texts);

/// Converts the options and checks them. Fails with kUsage; the message names the option and what
/// it allows.
[[nodiscard]] Result<void> readBenchmarkOptions(const BenchmarkTexts& texts,
                                                BenchmarkCommandOptions& options);

}  // namespace highwater::cli

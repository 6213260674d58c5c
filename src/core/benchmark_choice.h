#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/matmul_shape.h"
#include "core/messages.h"
#include "core/option_table.h"
#include "core/result.h"

namespace highwater {

/// What a benchmark of the CPU against the device measures. For 0 or nothing the worker takes its
/// own default.
struct BenchmarkChoice {
  bool matmul = false, step = false, drift = false;
  std::vector<MatmulShape> shapes;
  std::vector<Precision> dtypes;  ///< of the products
  std::uint32_t calls = 0;        ///< products of a measurement
  std::uint32_t steps = 0;        ///< training steps of a measurement
  /// ABBA blocks: each measures the CPU, MPS, MPS, the CPU. Fewer where a case takes long, unless
  /// the number was given.
  std::uint32_t rounds = 0;
  Precision mpsPrecision = Precision::kUnknown;  ///< of the model on MPS; kUnknown: as on the CPU
};

/// The same with its lists as texts: words with commas between.
struct BenchmarkWords : BenchmarkChoice {
  std::string parts, types, mpsType;
};

/// The options whose names differ between `highwater benchmark` and the worker, where --dtype and
/// --steps are of a run.
struct BenchmarkNames {
  const char* parts;
  const char* types;
  const char* steps;
};
inline constexpr BenchmarkNames kBenchmarkNames{"--only", "--dtype", "--steps"};
inline constexpr BenchmarkNames kWorkerBenchmarkNames{"--benchmark", "--matmul-dtype",
                                                      "--steps-per-measurement"};

/// The options of a benchmark but for --matmul, which may be repeated.
[[nodiscard]] constexpr auto benchmarkRows(const BenchmarkNames& names) {
  constexpr std::uint32_t kMostCalls = 100'000, kMostRounds = 1000;
  return std::to_array<OptionRow<BenchmarkWords>>({
      {{names.parts, "PART,...", "Parts to measure: matmul, step, drift"}, &BenchmarkWords::parts},
      {{names.types, "TYPE,...", "Types of the products: float32 (default), bfloat16, float16"},
       &BenchmarkWords::types},
      {{"--calls", "N", "Products of a measurement (default 100)", 1, kMostCalls},
       &BenchmarkWords::calls},
      {{names.steps, "N", "Training steps of a measurement (default 5)", 1, kMostCalls},
       &BenchmarkWords::steps},
      {{"--rounds", "N",
        "Rounds of CPU, MPS, MPS, CPU (default: 6, fewer where they take over 20 s)", 1,
        kMostRounds},
       &BenchmarkWords::rounds},
      {{"--mps-precision", "TYPE", "The --precision on MPS alone, to see what it would change"},
       &BenchmarkWords::mpsType},
  });
}

/// The options of a benchmark as given.
struct BenchmarkTexts {
  OptionTexts options;
  std::vector<std::string> shapes;
};

/// Adds the options of a benchmark to a CLI::App; parsing fills `texts`.
template <typename App>
void addBenchmarkOptions(App& app, const BenchmarkNames& names, BenchmarkTexts& texts) {
  BenchmarkWords defaults;
  for (const auto& row : benchmarkRows(names)) addOption(app, row, defaults, texts.options);
  app.add_option("--matmul", texts.shapes,
                 "A product of M x K and K x N to measure; may be repeated (default "
                 "1000x1000x1000)")
      ->type_name("MxKxN")
      ->type_size(1)
      ->allow_extra_args(false)
      ->take_all();
}

/// Converts and checks the options; what is not given stays. Fails with kUsage; the message names
/// the option and what it allows.
[[nodiscard]] Result<void> readBenchmarkChoice(const BenchmarkNames& names,
                                               const BenchmarkTexts& texts,
                                               BenchmarkChoice& choice);
/// Writes the lists of a choice so that readBenchmarkChoice() reads them.
[[nodiscard]] BenchmarkWords benchmarkWords(const BenchmarkChoice& choice);

}  // namespace highwater

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/matmul_shape.h"
#include "core/messages.h"
#include "core/result.h"

namespace CLI {
class App;
}

namespace highwater::worker {

/// What a benchmark of the CPU against the device measures.
struct BenchmarkOptions {
  bool matmul = false, step = false, drift = false;
  std::vector<MatmulShape> shapes{{1000, 1000, 1000}};
  std::vector<Precision> dtypes{Precision::kFloat32};  ///< of the products
  std::uint32_t calls = 100;                           ///< products of a measurement
  std::uint32_t steps = 5;                             ///< training steps of a measurement
  /// ABBA blocks: each measures the CPU, MPS, MPS, the CPU. Fewer where a case takes long, unless
  /// the number was given.
  std::uint32_t rounds = 6;
  bool allRounds = false;  ///< `rounds` was given
  /// Of the model on MPS; kUnknown: as on the CPU.
  Precision mpsPrecision = Precision::kUnknown;

  [[nodiscard]] bool needsModel() const { return step || drift; }
};

/// The options as given.
struct BenchmarkTexts {
  std::string parts, dtypes, mpsPrecision;
  std::vector<std::string> shapes;
  std::string calls, steps, rounds;
};

/// Adds --benchmark and the options that go with it to `app`; parsing fills `texts`.
void addBenchmarkOptions(CLI::App& app, BenchmarkTexts& texts);

/// Converts and checks the options. Fails with kUsage; the message names the option.
[[nodiscard]] Result<BenchmarkOptions> readBenchmarkOptions(const BenchmarkTexts& texts);

}  // namespace highwater::worker

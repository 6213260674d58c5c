#include "worker/checks/benchmark/benchmark_options.h"

namespace highwater::worker {

Result<BenchmarkOptions> readBenchmarkOptions(const BenchmarkTexts& texts) {
  BenchmarkOptions options;
  auto read = readBenchmarkChoice(kWorkerBenchmarkNames, texts, options);
  if (!read) return read.error();
  options.allRounds = options.rounds > 0;
  if (options.shapes.empty()) options.shapes = {{1000, 1000, 1000}};
  if (options.dtypes.empty()) options.dtypes = {Precision::kFloat32};
  if (options.calls == 0) options.calls = 100;
  if (options.steps == 0) options.steps = 5;
  if (options.rounds == 0) options.rounds = 6;
  return options;
}

}  // namespace highwater::worker

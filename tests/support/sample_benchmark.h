#pragma once

#include "tuning/benchmark.h"

namespace highwater::test {

/// A benchmark of a product, a step and the drift of two modules. On the CPU a product takes
/// `ratio` times as long as on MPS, whose queue the host fills at once. MPS's loss is off by
/// `drift`.
inline tuning::Benchmark sampleBenchmark(bool simulated, double ratio = 4, double drift = 2e-7) {
  using tuning::BenchmarkTiming;
  tuning::Benchmark made;
  made.highwater = "0.1.0";
  made.torch = "2.13.0";
  made.platform = simulated ? "Linux x86_64" : "macOS 14.5 arm64";
  made.device = "mps";
  made.simulated = simulated;
  made.cpuThreads = 2;
  made.workload = "issue-classifier";
  made.preset = "small";
  made.cpuPrecision = made.mpsPrecision = "float32";
  made.width = 128;
  made.layers = 2;
  made.heads = 4;
  made.batch = 16;
  made.length = 64;
  const auto timing = [&](const char* name, BenchmarkTiming::What what, double mpsMs,
                          double submitted) {
    BenchmarkTiming each;
    each.name = name;
    each.what = what;
    if (what == BenchmarkTiming::What::kMatmul) each.shape = {1000, 1000, 1000};
    each.cpuType = each.mpsType = "float32";
    each.calls = 100;
    each.cpu.firstMs = 40;
    each.mps.firstMs = 90;
    for (int i = 0; i < 12; ++i) {
      const double noise = 1 + 0.002 * (i % 3);
      each.cpu.doneMs.push_back(mpsMs * 100 * ratio * noise);
      each.cpu.submittedMs.push_back(mpsMs * 100 * ratio * noise);
      each.mps.doneMs.push_back(mpsMs * 100 * noise);
      each.mps.submittedMs.push_back(mpsMs * 100 * noise * submitted);
    }
    made.timings.push_back(each);
  };
  timing("matmul 1000x1000x1000 float32", BenchmarkTiming::What::kMatmul, 0.5, 0.01);
  timing("training step", BenchmarkTiming::What::kStep, 20, 0.97);
  tuning::Drift& drifted = made.drift.emplace();
  drifted.cpuPrecision = drifted.mpsPrecision = "float32";
  for (const double loss : {1.0, 1.1, 1.2, 1.3}) {
    drifted.losses.push_back({loss, loss + drift, loss - 1e-7});
  }
  const tuning::ErrorSize rounding{100, 3e-7, 3e-7, 1e-7, 1, 0};
  const tuning::ErrorSize off{100, 3 * drift, 3 * drift, drift, 1, 0};
  drifted.outputs = {{"tokens", {100, 0, 0, 0, 1, 0}, rounding}, {"layers.0.query", off, rounding}};
  drifted.gradients = {{"tokens", off, rounding}, {"layers.0.query", off, rounding}};
  made.complete = true;
  return made;
}

}  // namespace highwater::test

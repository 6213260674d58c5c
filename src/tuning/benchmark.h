#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/matmul_shape.h"
#include "tuning/drift.h"

namespace highwater::tuning {

/// The measurements of one case on one device. Milliseconds.
struct BenchmarkSide {
  double firstMs = 0;             ///< of the first call, in which kernels are compiled
  std::uint32_t warmUpCalls = 0;  ///< which are not measured
  /// Of each measurement: until the last call returned to the host, and until the device had done
  /// all of them. Two measurements of each round, in their order.
  std::vector<double> submittedMs, doneMs;
};

/// What was measured on the CPU and on MPS, in rounds of CPU, MPS, MPS, CPU.
struct BenchmarkTiming {
  enum class What { kMatmul, kStep };
  What what = What::kMatmul;
  std::string name;  ///< "matmul 1000x1000x1000 float32"
  MatmulShape shape;
  std::string cpuType, mpsType;  ///< of the elements, or of the forward pass
  std::uint32_t calls = 1;       ///< of a measurement
  BenchmarkSide cpu, mps;
};

/// A case that PyTorch or the device refused.
struct RefusedCase {
  std::string name, why;
};

/// What was measured, and where.
struct Benchmark {
  std::string highwater, torch, platform, device, deviceReason, blas;  ///< versions and machine
  bool simulated = false;  ///< its times say nothing about a Mac
  std::uint32_t cpuThreads = 0;
  std::string workload, scenario, preset, cpuPrecision, mpsPrecision;
  std::uint32_t width = 0, layers = 0, heads = 0, batch = 0, length = 0, accumulation = 1;
  std::vector<BenchmarkTiming> timings;
  std::vector<RefusedCase> refused;
  std::optional<Drift> drift;
  bool complete = false;  ///< false: interrupted, or the worker ended early

  [[nodiscard]] bool empty() const { return timings.empty() && refused.empty() && !drift; }
  /// "MPS" or "simulated MPS".
  [[nodiscard]] std::string deviceName() const;
};

/// A median with what lies around it.
struct Spread {
  double median = 0, lower = 0, upper = 0;  ///< with the quartiles
  double least = 0, most = 0;
  std::size_t count = 0;
};
/// The spread of some values; all 0 for none.
[[nodiscard]] Spread spreadOf(std::vector<double> values);

/// Milliseconds a call, until the device had done it: the honest figure.
[[nodiscard]] Spread honestMs(const BenchmarkSide& side, std::uint32_t calls);
/// Milliseconds a call until it returned to the host: what a clock shows that does not wait.
[[nodiscard]] Spread naiveMs(const BenchmarkSide& side, std::uint32_t calls);
/// The share of the honest time that the naive clock misses, 0 to 1: work that was still queued
/// when the last call returned. The median over the measurements.
[[nodiscard]] double missedShare(const BenchmarkSide& side);

/// A median with an interval that contains the true one with probability `coverage`.
struct Interval {
  double median = 0, low = 0, high = 0;
  double coverage = 0;
};
/// The median of some values, and the narrowest pair of order statistics that covers the true
/// median with at least 95 %; of fewer than six values their whole range, which covers it with 1 -
/// 2^(1-n). By the sign test: no assumption about how the values are distributed.
[[nodiscard]] Interval medianInterval(std::vector<double> values);

/// How many times as long the CPU takes as MPS: the median over the rounds, each of which gives one
/// ratio of sums. `median` is 0 without a complete round.
[[nodiscard]] Interval cpuOverMps(const BenchmarkTiming& timing);

/// The least coverage of an interval that tells which device is faster: that of three rounds.
inline constexpr double kLeastCoverage = 0.75;
/// What the ratio says: which device is faster, if that can be told.
enum class Faster { kUnclear, kCpu, kMps };
[[nodiscard]] Faster fasterOf(const Interval& cpuOverMps);

}  // namespace highwater::tuning

#pragma once

#include <QJsonObject>
#include <string>

#include "report/text_wrap.h"
#include "tuning/benchmark.h"

/// A benchmark of the CPU against MPS as text and JSON. Every text about a simulated device says
/// so, and none calls its speed that of MPS.
namespace highwater::report {

/// The whole benchmark as text, in lines of `width`.
[[nodiscard]] std::string benchmarkText(const tuning::Benchmark& benchmark,
                                        std::size_t width = kUnlimited);
/// The benchmark as JSON, with "schema": 1; see docs/benchmark-json.md. `stopped` says why it is
/// not complete, else it is empty.
[[nodiscard]] QJsonObject benchmarkJson(const tuning::Benchmark& benchmark,
                                        const std::string& stopped = {});

/// What was measured, on which machine and with which PyTorch, in one or two sentences.
[[nodiscard]] std::string benchmarkHeading(const tuning::Benchmark& benchmark);
/// Which device is faster, as far as that can be told.
[[nodiscard]] std::string speedSentence(const tuning::Benchmark& benchmark,
                                        const tuning::BenchmarkTiming& timing);
/// What a clock would show that does not wait for the device; empty where that is nearly the same.
[[nodiscard]] std::string naiveSentence(const tuning::BenchmarkTiming& timing);
/// What the drift means for the loss, and how that was judged. Precondition: has a drift.
[[nodiscard]] std::string driftSentence(const tuning::Benchmark& benchmark);

/// A time in the unit that fits: "3.2 µs", "12.3 ms", "2.40 s".
[[nodiscard]] std::string shortTime(double ms);
/// An error in two digits: "1.2e-07"; "0" for none.
[[nodiscard]] std::string shortError(double error);

/// The errors of one module in the forward pass, and of the gradients of its parameters.
struct ModuleRow {
  std::string module;
  const tuning::ErrorSize* output = nullptr;    ///< nullptr: no output of its own
  const tuning::ErrorSize* gradient = nullptr;  ///< nullptr: no parameters of its own
  /// Root mean square error of the outputs, or of the gradients where there are none, in multiples
  /// of what rounding explains.
  double timesRounding = 0;
};
/// The modules in the order of the forward pass. The pointers are into `drift`.
[[nodiscard]] std::vector<ModuleRow> moduleRows(const tuning::Drift& drift);

}  // namespace highwater::report

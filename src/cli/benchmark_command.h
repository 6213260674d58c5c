#pragma once

#include "cli/options.h"

namespace highwater::cli {

/// Runs `highwater benchmark`: measures the CPU against MPS and prints the result. Needs a
/// QCoreApplication. Returns the exit code: kExitEndedEarly where the user interrupted it, not
/// kExitDone where something could not be measured.
[[nodiscard]] int runBenchmark(const BenchmarkCommandOptions& options);

}  // namespace highwater::cli

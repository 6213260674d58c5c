#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/sim_options.h"
#include "core/result.h"
#include "session/session.h"

namespace CLI {
class App;
}

namespace highwater::cli {

/// The options of a run as given. readRunOptions() converts them, because CLI11's errors about
/// numbers name neither the range nor a remedy.
struct RunTexts {
  std::string device = "auto", workload = "issue-classifier", preset, data, dtype;
  std::string steps, batch, seq, lossEvery, seed, samplingHz, level, scenario;
  std::string learningRate, accumulation, precision, memoryFraction, outOfMemory;
  std::string onAbort, checkpointEvery;
  bool keepEffectiveBatch = false;
  std::vector<std::string> set;
  SimOptions sim;
};

/// Checks the value of --level. Fails with kUsage; the message names the allowed ones.
[[nodiscard]] Result<void> checkLevel(const std::string& text);

/// The help text of --batch, with its range.
[[nodiscard]] std::string batchHelp();
/// The help text of --seq, with its range.
[[nodiscard]] std::string lengthHelp();

/// Adds the options of a run to `app`; parsing fills `texts`. Their group in the help is `group`,
/// if it is given.
void addRunOptions(CLI::App& app, RunTexts& texts, const char* group = nullptr);

/// Adds what happens after a worker was killed, for commands that can continue a run.
void addAbortOptions(CLI::App& app, RunTexts& texts, const char* group = nullptr);

/// Converts the options and checks them, except workload, data and dtype, which the worker checks.
/// Fails with kUsage; the message names the option and what it allows.
[[nodiscard]] Result<session::LaunchOptions> readRunOptions(const RunTexts& texts);

}  // namespace highwater::cli

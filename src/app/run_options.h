#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/sim_options.h"
#include "core/result.h"
#include "session/session.h"

namespace CLI {
class App;
}

namespace highwater::app {

/// The texts of the options that start a run, as given. They are read after CLI11 is done, because
/// its own number errors say neither the range nor what to do.
struct RunTexts {
  std::string device = "auto", workload = "issue-classifier", preset, data, dtype;
  std::string steps, batch, seq, lossEvery, seed, samplingHz, level, scenario;
  std::vector<std::string> set;
  SimOptions sim;
};

[[nodiscard]] std::string batchHelp();
[[nodiscard]] std::string lengthHelp();

/// Binds the options to `texts`, which must outlive the parsing.
void addRunOptions(CLI::App& app, RunTexts& texts);

/// kUsage names the option, and what is allowed.
[[nodiscard]] Result<session::LaunchOptions> readRunOptions(const RunTexts& texts);

}  // namespace highwater::app

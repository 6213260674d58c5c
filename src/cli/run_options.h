#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/sim_options.h"
#include "core/result.h"
#include "core/run_options.h"
#include "session/session.h"

namespace CLI {
class App;
}

namespace highwater::cli {

/// The options of a run as given. readRunOptions() converts them, because CLI11's errors about
/// numbers name neither the range nor a remedy.
struct RunTexts {
  OptionTexts options;
  RunOptions defaults;  ///< what the command takes without an option
  std::vector<std::string> set;
  SimOptions sim;
};

/// Which of the options of runOptionRows() a command has.
using OptionNames = std::set<std::string_view>;

/// Adds the options of a run to `app`, but for those of `without`; parsing fills `texts`. Their
/// group in the help is `group`, if it is given.
void addRunOptions(CLI::App& app, RunTexts& texts, const OptionNames& without,
                   const char* group = nullptr);
/// Adds these options of a run.
void addSomeRunOptions(CLI::App& app, RunTexts& texts, const OptionNames& names,
                       const char* group = nullptr);

/// Converts the options and checks them, except data and dtype, which the worker checks. Fails with
/// kUsage; the message names the option and what it allows.
[[nodiscard]] Result<session::LaunchOptions> readRunOptions(const RunTexts& texts);

}  // namespace highwater::cli

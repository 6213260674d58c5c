#pragma once

#include <string>

#include "cli/options.h"
#include "cli/run_options.h"
#include "core/result.h"

namespace CLI {
class App;
}

namespace highwater::cli {

/// The options of `highwater sweep` as given, without those of the run.
struct SweepTexts {
  std::string minBatch, maxBatch, lengths, reserve = "10", settings = "8", stepsPerSetting = "8",
                                           settingSeconds;
  bool onlyLargest = false;
};

/// Adds the options to `app`; parsing fills `texts`.
void addSweepOptions(CLI::App& app, SweepTexts& texts);

/// Converts and checks the options into `options`, whose `launch` has been read before: the run
/// begins at the first setting, by default a batch of 8, with its ops recorded. Fails with kUsage,
/// also if the bounds leave no setting.
[[nodiscard]] Result<void> readSweepOptions(const SweepTexts& texts, SweepCommandOptions& options);

}  // namespace highwater::cli

#pragma once

#include "cli/options.h"
#include "core/option_table.h"
#include "core/result.h"

namespace CLI {
class App;
}

namespace highwater::cli {

/// Adds the options of `highwater sweep`, without those of the run, to `app`; parsing fills
/// `texts`.
void addSweepOptions(CLI::App& app, OptionTexts& texts);

/// Converts and checks the options into `options`, whose `launch` has been read before: the run
/// begins at the first setting, by default a batch of 8, with its ops recorded. Fails with kUsage,
/// also if the bounds leave no setting.
[[nodiscard]] Result<void> readSweepOptions(const OptionTexts& texts, SweepCommandOptions& options);

}  // namespace highwater::cli

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

/// Refuses options of a run that say nothing of the user's own program. Fails with kUsage.
[[nodiscard]] Result<void> checkSweepOfProgram(const OptionTexts& run);

/// Converts and checks the options into `options`, whose `launch` and `script` have been read
/// before: the run begins at the first setting, by default a batch of 8 or the program's own, with
/// its ops recorded. Fails with kUsage, also if the bounds leave no setting.
[[nodiscard]] Result<void> readSweepOptions(const OptionTexts& texts, SweepCommandOptions& options);

}  // namespace highwater::cli

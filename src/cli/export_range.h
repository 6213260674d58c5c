#pragma once

#include <optional>

#include "analysis/time_range.h"
#include "cli/options.h"
#include "core/result.h"
#include "run/recording_loader.h"

namespace highwater::cli {

/// The part of the run that an export of data is asked for; std::nullopt: all of it. Steps are
/// looked up in the recording. Fails with kUsage where it has none of them, and as
/// run::loadReadablePart() does.
[[nodiscard]] Result<std::optional<analysis::TimeRange>> rangeOf(const DataExportOptions& options,
                                                                 const run::LoadControl& control);

}  // namespace highwater::cli

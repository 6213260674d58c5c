#pragma once

#include <string>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "core/messages.h"
#include "core/recording_condition.h"

namespace highwater::report {

/// The device and why it was chosen: "simulated mps: there is no Metal on Linux".
[[nodiscard]] std::string deviceSentence(const DeviceReport& device);

/// Writes the summary that `highwater record` prints at the end of a run.
[[nodiscard]] std::string shortSummary(const analysis::LiveStore& store,
                                       const analysis::RunSummary& summary);

/// The report of a recording as text. `title` is the recording's name.
[[nodiscard]] std::string reportText(const std::string& title, const analysis::LiveStore& store,
                                     const analysis::RunSummary& summary,
                                     const RecordingCondition& condition);

}  // namespace highwater::report

#pragma once

#include <string>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "core/messages.h"
#include "session/recording_loader.h"

namespace highwater::app {

/// "simulated mps: there is no Metal on Linux": which device, and why.
[[nodiscard]] std::string deviceSentence(const DeviceReport& device);

/// The few lines that end a recorded run.
[[nodiscard]] std::string shortSummary(const analysis::LiveStore& store,
                                       const analysis::RunSummary& summary);

/// The report of a recording for people. `title`: the recording's name.
[[nodiscard]] std::string reportText(const std::string& title, const analysis::LiveStore& store,
                                     const analysis::RunSummary& summary,
                                     const session::RecordingCondition& condition);

}  // namespace highwater::app

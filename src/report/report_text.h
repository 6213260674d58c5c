#pragma once

#include <string>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "core/messages.h"
#include "core/recording_condition.h"
#include "report/text_wrap.h"

namespace highwater::report {

/// The device and why it was chosen: "simulated mps: there is no Metal on Linux".
[[nodiscard]] std::string deviceSentence(const DeviceReport& device);

/// Writes the summary that `highwater record` prints at the end of a run, in lines of `width`.
[[nodiscard]] std::string shortSummary(const analysis::LiveStore& store,
                                       const analysis::RunSummary& summary,
                                       std::size_t width = kUnlimited);

/// How reportText() is written.
struct TextOptions {
  std::size_t width = kUnlimited;  ///< the longest line, in code points
  bool full = false;               ///< with memory growth, idle time, device switches and phases
};

/// The report of a recording as text: findings, then steps, memory and loss, then device and data,
/// then the tables. `title` is the recording's name.
[[nodiscard]] std::string reportText(const std::string& title, const analysis::LiveStore& store,
                                     const analysis::RunSummary& summary,
                                     const RecordingCondition& condition,
                                     const TextOptions& options);

}  // namespace highwater::report

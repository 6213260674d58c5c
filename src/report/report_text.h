#pragma once

#include <string>

#include "analysis/findings/findings.h"
#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "core/recording_condition.h"
#include "report/text_wrap.h"

namespace highwater::report {

/// Writes the result that `highwater record` and `run` print at the end of a run, in lines of
/// `width`: verdict, first findings, what ran, where its time went, steps, memory, waits and the
/// largest safe batch. Of a run without a step only what ended it.
[[nodiscard]] std::string runResult(const analysis::LiveStore& store,
                                    std::size_t width = kUnlimited);

/// How reportText() is written.
struct TextOptions {
  std::size_t width = kUnlimited;  ///< the longest line, in code points
  bool full = false;               ///< with memory growth, idle time, device switches and phases
};

/// The recording's name with the label of its device: "run.highwater (simulated mps)".
[[nodiscard]] std::string titleWithDevice(const std::string& title,
                                          const analysis::LiveStore& store);

/// The report of a recording as text: findings, then steps, memory and loss, then device and data,
/// then the tables. `title` is the recording's name.
[[nodiscard]] std::string reportText(const std::string& title, const analysis::LiveStore& store,
                                     const analysis::RunSummary& summary,
                                     const RecordingCondition& condition,
                                     const TextOptions& options);

/// The same, with the findings of the store, which take the most time of a report.
[[nodiscard]] std::string reportText(const std::string& title, const analysis::LiveStore& store,
                                     const analysis::RunSummary& summary,
                                     const analysis::Findings& findings,
                                     const RecordingCondition& condition,
                                     const TextOptions& options);

/// The same as GitHub-flavoured Markdown, to paste into an issue: verdict and findings, the run's
/// numbers, and the text of reportText() as a part that is opened by a click.
[[nodiscard]] std::string reportMarkdown(const std::string& title, const analysis::LiveStore& store,
                                         const analysis::RunSummary& summary,
                                         const RecordingCondition& condition,
                                         const TextOptions& options);

}  // namespace highwater::report

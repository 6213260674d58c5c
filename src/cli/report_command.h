#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "analysis/live_store.h"
#include "cli/options.h"
#include "core/recording_condition.h"

namespace highwater::cli {

/// What may be held of a recording for a report, in bytes. It leaves room for more than a million
/// ops, of which the tables of ops tell what an op does just as well as those of the window's four
/// million.
inline constexpr std::size_t kReportMemory = std::size_t{232} << 20;

/// The width of a report that is read elsewhere than on this terminal: Markdown, a page.
inline constexpr std::size_t kFixedWidth = 100;

/// Reads a recording for a report. Returns what is wrong with it, for stderr; empty if nothing is.
/// If the stream is damaged, `store` has what came before; it has no hello() if nothing could be
/// read.
[[nodiscard]] std::string loadForReport(const std::filesystem::path& path,
                                        analysis::LiveStore& store, RecordingCondition& condition);

/// Runs `highwater report`: prints the report of a recording to stdout. Returns the exit code:
/// kExitFailed if the recording cannot be read or is damaged; what precedes the damage is reported.
[[nodiscard]] int runReport(const ReportOptions& options);

}  // namespace highwater::cli

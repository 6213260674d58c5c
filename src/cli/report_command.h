#pragma once

#include <cstddef>

#include "cli/options.h"

namespace highwater::cli {

/// What may be held of a recording for a report, in bytes. It leaves room for two million ops, of
/// which the tables of ops tell what an op does just as well as those of the window's four million.
inline constexpr std::size_t kReportMemory = std::size_t{288} << 20;

/// Runs `highwater report`: prints the report of a recording to stdout. Returns the exit code:
/// kExitFailed if the recording cannot be read or is damaged; what precedes the damage is reported.
[[nodiscard]] int runReport(const ReportOptions& options);

}  // namespace highwater::cli

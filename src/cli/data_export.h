#pragma once

#include <cstdint>
#include <string>

#include "cli/options.h"
#include "core/recording_condition.h"
#include "core/result.h"

namespace highwater::cli {

/// What an export has written.
struct ExportOutcome {
  RecordingCondition condition;  ///< of the recording
  std::string text;              ///< for the user: "1200 events, 96 KiB"
  std::uint64_t dropped = 0;     ///< events that the recording lacks
  std::string remark;            ///< a warning for the user; may be empty
};

/// Whether `highwater export` writes data to a file of that name, rather than a picture.
[[nodiscard]] bool isDataFile(const std::string& name);

/// Whether that is a file of one table, which DataExportOptions::table names.
[[nodiscard]] bool isTableFile(const std::string& name);

/// The endings of data files and what they are, for help.
[[nodiscard]] std::string dataFileHelp();

/// Runs `highwater export` to a file of data, such as a trace, whose kind follows from its ending.
/// Returns the exit code: kExitFailed if the recording cannot be read or is damaged, in which case
/// what precedes the damage is written, and if the file cannot be written, in which case none is
/// left.
[[nodiscard]] int runDataExport(const DataExportOptions& options);

}  // namespace highwater::cli

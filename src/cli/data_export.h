#pragma once

#include <string>
#include <string_view>

#include "cli/options.h"

namespace highwater::cli {

/// Whether `highwater export` writes data to a file of that name, rather than a picture.
[[nodiscard]] bool isDataFile(const std::string& name);

/// The endings of data files and what they are, for help: ".json for Chrome's format, …".
[[nodiscard]] std::string dataFileKinds();

/// Runs `highwater export` to a file of data, such as a trace, whose kind follows from its ending.
/// Returns the exit code: kExitFailed if the recording cannot be read or is damaged, in which case
/// what precedes the damage is written, and if the file cannot be written, in which case none is
/// left.
[[nodiscard]] int runDataExport(const DataExportOptions& options);

}  // namespace highwater::cli

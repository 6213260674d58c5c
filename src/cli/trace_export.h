#pragma once

#include <filesystem>
#include <memory>

#include "cli/data_export.h"
#include "report/trace_events.h"

namespace highwater::cli {

/// Makes a format that writes a trace.
using MakeTrace = std::unique_ptr<report::TraceFormat> (*)(report::Write write);

template <typename Format>
std::unique_ptr<report::TraceFormat> makeTrace(report::Write write) {
  return std::make_unique<Format>(std::move(write));
}

/// Writes a recording as a trace, compressed by gzip or not. Fails where the recording cannot be
/// read or the file not be written; no file is left then.
[[nodiscard]] Result<ExportOutcome> writeTrace(const DataExportOptions& options, MakeTrace make,
                                               bool isCompressed);

}  // namespace highwater::cli

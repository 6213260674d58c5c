#pragma once

#include <filesystem>

#include "cli/data_export.h"

namespace highwater::cli {

/// Writes one table of a recording (DataExportOptions::table) as CSV. Fails where the recording
/// cannot be read or the file not be written; no file is left then.
[[nodiscard]] Result<ExportOutcome> writeCsv(const DataExportOptions& options);

/// Writes all tables into a folder, each as a CSV file. Where a table cannot be written, none
/// replaces an older one.
[[nodiscard]] Result<ExportOutcome> writeCsvFolder(const DataExportOptions& options);

/// Writes all tables into a SQLite file. Fails with kExists where that is an older one to which
/// somebody has added tables or views.
[[nodiscard]] Result<ExportOutcome> writeSqlite(const DataExportOptions& options);

/// Whether a file was written by writeCsv(), by its first line.
[[nodiscard]] bool isCsv(const std::filesystem::path& file);
/// Whether a file was written by writeSqlite(), by its application_id.
[[nodiscard]] bool isSqliteTables(const std::filesystem::path& file);

}  // namespace highwater::cli

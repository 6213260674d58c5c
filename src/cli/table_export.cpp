#include "cli/table_export.h"

#include <QDir>
#include <QFile>
#include <QSaveFile>
#include <algorithm>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "cli/export_range.h"
#include "cli/output_file.h"
#include "cli/report_command.h"
#include "core/units.h"
#include "report/csv_tables.h"
#include "report/report_json.h"
#include "report/sqlite_tables.h"
#include "run/recording_output.h"

namespace highwater::cli {
namespace {

namespace fs = std::filesystem;

/// Gives the run's rows to a sink. `failed` says whether they cannot be written any more.
Result<ExportOutcome> makeRows(const DataExportOptions& options, report::RowSink& sink,
                               const std::function<bool()>& failed) {
  run::LoadControl control;
  control.mostBytes = UINT64_MAX;  // nothing of it stays in memory
  control.cancelled = failed;
  const auto range = rangeOf(options, control);
  if (!range) return range.error();
  report::RunTables tables(sink, *range);
  auto condition = run::loadReadablePart(options.recording, tables, control);
  if (!condition) return condition.error();
  tables.finish();
  ExportOutcome outcome{*condition, {}, tables.dropped(), {}};
  const auto& all = report::runTables();
  const bool isOfAll = std::any_of(all.begin(), all.end(), [&](const report::RunTable& each) {
    return each.isOfWholeRun && sink.wants(each);
  });
  if (isOfAll && *range) {
    outcome.remark = "findings and account are of the whole run, not of a part: left empty";
  } else if (isOfAll) {
    analysis::LiveStore store;
    store.setMemoryBudget(kReportMemory);
    // Where it is damaged, the same as above was read.
    auto whole = run::loadReadablePart(options.recording, store);
    if (!whole) return whole.error();
    tables.addReport(report::reportJson(store, analysis::summarize(store), *whole));
    if (whole->cutOff && !condition->cutOff) {
      outcome.remark = "findings and account are of the first " +
                       std::to_string(store.steps().records.size()) +
                       " steps: the whole run does not fit into memory";
    }
  }
  outcome.text = std::to_string(tables.written()) + " rows";
  return outcome;
}

std::vector<std::unique_ptr<QSaveFile>> filesOf(const fs::path& folder) {
  std::vector<std::unique_ptr<QSaveFile>> files;
  for (const report::RunTable& each : report::runTables()) {
    const fs::path path = folder / (std::string(each.name) + ".csv");
    files.push_back(std::make_unique<QSaveFile>(QString::fromStdString(path.string())));
  }
  return files;
}

}  // namespace

Result<ExportOutcome> writeCsv(const DataExportOptions& options) {
  QSaveFile file(QString::fromStdString(options.file));
  if (!file.open(QIODevice::WriteOnly)) return notWritten(file, "--to");
  report::CsvTables csv;
  csv.addTable(*report::runTable(options.table), writeTo(file));
  const auto failed = [&file] { return file.error() != QFileDevice::NoError; };
  auto outcome = makeRows(options, csv, failed);
  csv.finish();
  if (failed()) return notWritten(file, "--to");
  if (!outcome) return outcome.error();
  outcome->text +=
      " of " + options.table + ", " + formatBytes(static_cast<std::uint64_t>(file.size()));
  if (!file.commit()) return notWritten(file, "--to");
  return outcome;
}

Result<ExportOutcome> writeCsvFolder(const DataExportOptions& options) {
  const fs::path folder = options.file;
  const bool wasThere = fs::is_directory(folder);
  std::error_code problem;
  fs::create_directory(folder, problem);
  if (problem) return failure(options.file + " cannot be made: " + problem.message());
  const auto files = filesOf(folder);
  report::CsvTables csv;
  const auto failed = [&files] {
    return std::any_of(files.begin(), files.end(),
                       [](const auto& each) { return each->error() != QFileDevice::NoError; });
  };
  const auto write = [&]() -> Result<ExportOutcome> {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const fs::path path = files[i]->fileName().toStdString();
      if (auto replaced = run::checkReplaced(path, options.force, "table of Highwater", &isCsv);
          !replaced) {
        return replaced.error();
      }
      if (!files[i]->open(QIODevice::WriteOnly)) return notWritten(*files[i], "--to");
      csv.addTable(report::runTables()[i], writeTo(*files[i]));
    }
    auto outcome = makeRows(options, csv, failed);
    csv.finish();
    for (const auto& each : files) {
      if (failed() || (outcome && !each->commit())) return notWritten(*each, "--to");
    }
    return outcome;
  };
  auto outcome = write();
  if (!outcome && !wasThere) {
    // Files that were begun go with their objects.
    for (const auto& each : files) each->cancelWriting();
    fs::remove(folder, problem);
  }
  if (outcome) outcome->text += " in " + std::to_string(files.size()) + " tables";
  return outcome;
}

Result<ExportOutcome> writeSqlite(const DataExportOptions& options) {
  // SQLite writes to a name, so what it writes is renamed once it is whole.
  const fs::path part = options.file + ".part";
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(part, ignored))) {
    return failure(part.string() +
                   " is in the way: another export writes it, or was killed; "
                   "remove it, or name another file after --to");
  }
  const auto write = [&]() -> Result<ExportOutcome> {
    auto tables = report::SqliteTables::create(part);
    if (!tables) {
      return failure(options.file + " cannot be written: " + tables.error().message +
                     "; name another file after --to");
    }
    auto outcome = makeRows(options, **tables, [&] { return (*tables)->failed(); });
    if (auto done = (*tables)->finish(); !done) {
      return failure(options.file + " cannot be written: " + done.error().message);
    }
    return outcome;
  };
  auto outcome = write();
  std::error_code problem;
  if (outcome) {
    outcome->text += " in " + std::to_string(report::runTables().size()) + " tables, " +
                     formatBytes(fs::file_size(part, ignored));
    fs::rename(part, options.file, problem);
    if (!problem) return outcome;
    outcome = failure(options.file + " cannot be written: " + problem.message());
  }
  fs::remove(part, ignored);
  return outcome;
}

bool isCsv(const fs::path& file) {
  const QByteArray head = headOf(file);
  const auto& tables = report::runTables();
  return std::any_of(tables.begin(), tables.end(), [&](const report::RunTable& each) {
    return head.startsWith(report::CsvTables::head(each).c_str());
  });
}

bool isSqliteTables(const fs::path& file) {
  constexpr qsizetype kIdAt = 68;  // sqlite.org/fileformat2.html
  const QByteArray head = headOf(file);
  QByteArray id;
  for (int shift = 24; shift >= 0; shift -= 8) {
    id += static_cast<char>(report::SqliteTables::kApplicationId >> shift & 0xFFU);
  }
  return head.startsWith("SQLite format 3") && head.mid(kIdAt, id.size()) == id;
}

}  // namespace highwater::cli

#include "cli/table_export.h"

#include <QSaveFile>
#include <QTemporaryFile>
#include <algorithm>
#include <functional>
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
  tables.finish(*condition);
  ExportOutcome outcome{*condition, {}, tables.dropped(), {}};
  const auto& all = report::runTables();
  const bool isOfAll = std::any_of(all.begin(), all.end(), [&](const report::RunTable& each) {
    return each.isOfWholeRun && sink.wants(each);
  });
  if (isOfAll && *range) {
    outcome.remark = "findings and account are of the whole run, not of a part: left empty";
  } else if (isOfAll) {
    analysis::LiveStore store;
    RecordingCondition whole;
    // Where it is damaged, the same as above was read.
    const std::string problem = loadForReport(options.recording, store, whole);
    if (!store.hello()) return failure(problem);
    tables.addReport(report::reportJson(store, analysis::summarize(store), whole));
    if (whole.cutOff && !condition->cutOff) {
      outcome.remark = "findings and account are of the first " +
                       std::to_string(store.steps().records.size()) +
                       " steps: the whole run does not fit into memory";
    }
  }
  outcome.text = std::to_string(tables.written()) + " rows";
  return outcome;
}

using Files = std::vector<std::unique_ptr<QSaveFile>>;

/// Opens a file for each table in the folder, and gives each its rows.
Result<ExportOutcome> writeTables(const DataExportOptions& options, Files& files) {
  report::CsvTables csv;
  for (const report::RunTable& table : report::runTables()) {
    const fs::path path = fs::path(options.file) / (std::string(table.name) + ".csv");
    if (auto replaced = run::checkReplaced(path, options.force, "table of Highwater", &isCsv);
        !replaced) {
      return replaced.error();
    }
    files.push_back(std::make_unique<QSaveFile>(QString::fromStdString(path.string())));
    if (!files.back()->open(QIODevice::WriteOnly)) return notWritten(*files.back(), "--to");
    csv.addTable(table, writeTo(*files.back()));
  }
  auto outcome = makeRows(options, csv, [&files] {
    return std::any_of(files.begin(), files.end(),
                       [](const auto& each) { return each->error() != QFileDevice::NoError; });
  });
  csv.finish();
  // All of them are whole before one takes its place.
  for (const auto& each : files) {
    if (auto done = flushed(*each, "--to"); !done) return done.error();
  }
  if (!outcome) return outcome.error();
  for (const auto& each : files) {
    if (auto done = commit(*each, "--to"); !done) return done.error();
  }
  return outcome;
}

}  // namespace

Result<ExportOutcome> writeCsv(const DataExportOptions& options) {
  const report::RunTable& table = *report::runTable(options.table);
  if (table.isOfWholeRun && (options.steps || options.fromNs || options.untilNs)) {
    return usageError("--table " + options.table +
                      " is of the whole run: leave out --steps, --from and --until");
  }
  QSaveFile file(QString::fromStdString(options.file));
  if (!file.open(QIODevice::WriteOnly)) return notWritten(file, "--to");
  report::CsvTables csv;
  csv.addTable(table, writeTo(file));
  auto outcome = makeRows(options, csv, [&file] { return file.error() != QFileDevice::NoError; });
  csv.finish();
  if (auto done = flushed(file, "--to"); !done) return done.error();
  if (!outcome) return outcome.error();
  outcome->text +=
      " of " + options.table + ", " + formatBytes(static_cast<std::uint64_t>(file.size()));
  if (auto done = commit(file, "--to"); !done) return done.error();
  return outcome;
}

Result<ExportOutcome> writeCsvFolder(const DataExportOptions& options) {
  const fs::path folder = options.file;
  std::error_code problem;
  const bool isNew = fs::create_directory(folder, problem);
  if (problem) return failure(options.file + " cannot be made: " + problem.message());
  Files files;
  auto outcome = writeTables(options, files);
  if (outcome) {
    outcome->text += " in " + std::to_string(files.size()) + " tables";
    return outcome;
  }
  std::vector<fs::path> names;
  for (const auto& each : files) names.emplace_back(each->fileName().toStdString());
  files.clear();  // what was begun goes with it
  if (isNew) {
    for (const fs::path& each : names) fs::remove(each, problem);
    fs::remove(folder, problem);
  }
  return outcome;
}

Result<ExportOutcome> writeSqlite(const DataExportOptions& options) {
  QSaveFile file(QString::fromStdString(options.file));
  if (!file.open(QIODevice::WriteOnly)) return notWritten(file, "--to");
  // SQLite writes to a name, so the file is copied once it is whole.
  const fs::path folder = fs::path(options.file).parent_path();
  QTemporaryFile draft(QString::fromStdString((folder / ".highwater-XXXXXX").string()));
  const auto problem = [&options](const std::string& reason) {
    return failure(options.file + " cannot be written: " + reason +
                   "; name another file after --to");
  };
  if (!draft.open()) return problem(draft.errorString().toStdString());
  auto tables = report::SqliteTables::create(draft.fileName().toStdString());
  if (!tables) return problem(tables.error().message);
  auto outcome = makeRows(options, **tables, [&] { return (*tables)->failed(); });
  if (auto done = (*tables)->finish(); !done) return problem(done.error().message);
  if (!outcome) return outcome.error();
  tables->reset();
  constexpr qint64 kPiece = 1 << 20;
  const report::Write write = writeTo(file);
  while (!draft.atEnd() && file.error() == QFileDevice::NoError) {
    const QByteArray piece = draft.read(kPiece);
    if (piece.isEmpty()) return problem(draft.errorString().toStdString());
    write({piece.data(), static_cast<std::size_t>(piece.size())});
  }
  if (auto done = flushed(file, "--to"); !done) return done.error();
  outcome->text += " in " + std::to_string(report::runTables().size()) + " tables, " +
                   formatBytes(static_cast<std::uint64_t>(file.size()));
  if (auto done = commit(file, "--to"); !done) return done.error();
  return outcome;
}

bool isCsv(const fs::path& file) {
  const std::string head = headOf(file);
  const auto& tables = report::runTables();
  return std::any_of(tables.begin(), tables.end(), [&](const report::RunTable& each) {
    return head.starts_with(report::CsvTables::head(each));
  });
}

bool isSqliteTables(const fs::path& file) {
  constexpr std::size_t kIdAt = 68;  // sqlite.org/fileformat2.html
  const std::string head = headOf(file);
  std::string id;
  for (int shift = 24; shift >= 0; shift -= 8) {
    id += static_cast<char>(report::SqliteTables::kApplicationId >> shift & 0xFFU);
  }
  return head.starts_with("SQLite format 3") && head.find(id, kIdAt) == kIdAt;
}

}  // namespace highwater::cli

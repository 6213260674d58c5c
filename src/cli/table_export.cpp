#include "cli/table_export.h"

#include <algorithm>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "cli/export_range.h"
#include "cli/output_draft.h"
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

/// Refuses to replace a file of tables to which somebody else has added something.
Result<void> checkNothingAdded(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored) || fs::is_empty(file, ignored)) return {};
  const auto refused = [&file](const std::string& why) {
    return Error{ErrorCode::kExists,
                 file.string() + ' ' + why + ", so it is not overwritten; name another output"};
  };
  // SQLite would take what is in these for changes to the new file.
  for (const char* each : {"-wal", "-journal"}) {
    const fs::path changes = file.string() + each;
    if (fs::exists(changes, ignored) && !fs::is_empty(changes, ignored)) {
      return refused("has changes of another program in " + changes.filename().string());
    }
  }
  const auto added = report::SqliteTables::addedTo(file);
  if (!added) return refused("cannot be read (" + added.error().message + ')');
  if (!added->empty()) return refused("also holds " + *added + ", which no export has written");
  return {};
}

}  // namespace

Result<ExportOutcome> writeCsv(const DataExportOptions& options) {
  const report::RunTable& table = *report::runTable(options.table);
  if (table.isOfWholeRun && (options.steps || options.fromNs || options.untilNs)) {
    return usageError("--table " + options.table +
                      " is of the whole run: leave out --steps, --from and --until");
  }
  auto draft = OutputDraft::ofFile(options.file);
  if (!draft) return draft.error();
  const auto file = (*draft)->open(0);
  if (!file) return file.error();
  report::CsvTables csv;
  csv.addTable(table, writeTo(**file));
  auto outcome = makeRows(options, csv, [&draft] { return (*draft)->failed(); });
  csv.finish();
  if (auto done = (*draft)->flush(); !done) return done.error();
  if (!outcome) return outcome.error();
  outcome->text += " of " + options.table + ", " + formatBytes((*draft)->bytes());
  if (auto done = (*draft)->commit(); !done) return done.error();
  return outcome;
}

Result<ExportOutcome> writeCsvFolder(const DataExportOptions& options) {
  const auto& tables = report::runTables();
  std::vector<std::string> names;
  for (const report::RunTable& each : tables) {
    names.push_back(std::string(each.name) + ".csv");
    if (auto replaced = run::checkReplaced(fs::path(options.file) / names.back(), options.force,
                                           "table of Highwater", &isCsv);
        !replaced) {
      return replaced.error();
    }
  }
  auto draft = OutputDraft::ofFolder(options.file, names);
  if (!draft) return draft.error();
  report::CsvTables csv;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto file = (*draft)->open(i);
    if (!file) return file.error();
    csv.addTable(tables[i], writeTo(**file));
  }
  auto outcome = makeRows(options, csv, [&draft] { return (*draft)->failed(); });
  csv.finish();
  if (auto done = (*draft)->flush(); !done) return done.error();
  if (!outcome) return outcome.error();
  outcome->text +=
      " in " + std::to_string(tables.size()) + " tables, " + formatBytes((*draft)->bytes());
  if (auto done = (*draft)->commit(); !done) return done.error();
  return outcome;
}

Result<ExportOutcome> writeSqlite(const DataExportOptions& options) {
  if (auto replaced = checkNothingAdded(options.file); !replaced) return replaced.error();
  auto draft = OutputDraft::ofFile(options.file);
  if (!draft) return draft.error();
  auto tables = report::SqliteTables::create((*draft)->path(0));
  if (!tables) return (*draft)->notWritten(tables.error().message);
  auto outcome = makeRows(options, **tables, [&] { return (*tables)->failed(); });
  if (auto done = (*tables)->finish(); !done) return (*draft)->notWritten(done.error().message);
  if (!outcome) return outcome.error();
  tables->reset();
  outcome->text += " in " + std::to_string(report::runTables().size()) + " tables, " +
                   formatBytes((*draft)->bytes());
  if (auto done = (*draft)->commit(); !done) return done.error();
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

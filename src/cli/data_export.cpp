#include "cli/data_export.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "cli/output_file.h"
#include "cli/table_export.h"
#include "cli/terminal.h"
#include "cli/trace_export.h"
#include "core/exit_codes.h"
#include "report/chrome_trace.h"
#include "report/data_files.h"
#include "report/gzip.h"
#include "report/perfetto_trace.h"
#include "run/recording_loader.h"
#include "run/recording_output.h"

namespace highwater::cli {
namespace {

constexpr std::string_view kChromeMark = "\"traceEvents\"";

bool isChromeTrace(const std::filesystem::path& file) {
  return headOf(file).find(kChromeMark) != std::string::npos;
}

bool isCompressedTrace(const std::filesystem::path& file) {
  return report::Gzip::textOf(headOf(file)).find(kChromeMark) != std::string::npos;
}

bool isPerfettoTrace(const std::filesystem::path& file) {
  return report::PerfettoTrace::isHead(headOf(file));
}

/// How a kind of data file is written.
struct Writer {
  report::DataFile file;
  bool (*isOfKind)(const std::filesystem::path&);
  Result<ExportOutcome> (*write)(const DataExportOptions&);
};

constexpr Writer kWriters[] = {
    {report::DataFile::kPerfettoTrace, &isPerfettoTrace,
     [](const DataExportOptions& options) {
       return writeTrace(options, &makeTrace<report::PerfettoTrace>, false);
     }},
    {report::DataFile::kChromeTrace, &isChromeTrace,
     [](const DataExportOptions& options) {
       return writeTrace(options, &makeTrace<report::ChromeTrace>, false);
     }},
    {report::DataFile::kCompressedTrace, &isCompressedTrace,
     [](const DataExportOptions& options) {
       return writeTrace(options, &makeTrace<report::ChromeTrace>, true);
     }},
    {report::DataFile::kSqlite, &isSqliteTables, &writeSqlite},
    {report::DataFile::kCsv, &isCsv, &writeCsv},
    {report::DataFile::kCsvFolder, nullptr, &writeCsvFolder},
};

const Writer& writerOf(report::DataFile file) {
  return *std::find_if(std::begin(kWriters), std::end(kWriters),
                       [file](const Writer& each) { return each.file == file; });
}

}  // namespace

bool isDataFile(const std::string& name) {
  return report::dataFileKindOf(name) != nullptr;
}

bool isTableFile(const std::string& name) {
  const auto* const kind = report::dataFileKindOf(name);
  return kind && kind->file == report::DataFile::kCsv;
}

std::string dataFileHelp() {
  std::string kinds;
  for (const report::DataFileKind& each : report::dataFileKinds()) {
    kinds += (kinds.empty() ? "" : ", ") + std::string(each.ending) + " (" + each.text + ')';
  }
  return kinds;
}

int runDataExport(const DataExportOptions& options) {
  ignoreFileSizeSignal();
  const report::DataFileKind& kind = *report::dataFileKindOf(options.file);
  const Writer& writer = writerOf(kind.file);
  if (writer.isOfKind) {
    if (auto replaced = run::checkReplaced(options.file, options.force, kind.noun, writer.isOfKind);
        !replaced) {
      return failWith(replaced.error());
    }
  }
  const auto outcome = writer.write(options);
  if (!outcome) return failWith(outcome.error());
  std::string text = options.file + ": " + outcome->text;
  if (outcome->dropped > 0) {
    text += "; the recording lacks " + std::to_string(outcome->dropped) +
            " events that were lost under load";
  }
  print(text + '\n');
  if (!outcome->remark.empty()) printError(outcome->remark);
  if (outcome->condition.beingWritten) {
    printError("the recording is still being written: the end is open");
  }
  if (outcome->condition.damage.empty()) return kExitDone;
  printError(run::damageText(options.recording, outcome->condition));
  return kExitFailed;
}

}  // namespace highwater::cli

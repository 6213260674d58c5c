#include "cli/data_export.h"

#include <QString>
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

/// A kind of data file.
struct Kind {
  std::string_view ending;
  const char* noun;  ///< of the file
  const char* text;  ///< for help
  bool (*isOfKind)(const std::filesystem::path&);
  Result<ExportOutcome> (*write)(const DataExportOptions&);
};

constexpr Kind kKinds[] = {
    {".pftrace", "trace of Highwater", "a trace in Perfetto's own format", &isPerfettoTrace,
     [](const DataExportOptions& options) {
       return writeTrace(options, &makeTrace<report::PerfettoTrace>, false);
     }},
    {".json", "trace", "a trace in Chrome's, as torch.profiler writes", &isChromeTrace,
     [](const DataExportOptions& options) {
       return writeTrace(options, &makeTrace<report::ChromeTrace>, false);
     }},
    {".json.gz", "compressed trace", "the same, compressed", &isCompressedTrace,
     [](const DataExportOptions& options) {
       return writeTrace(options, &makeTrace<report::ChromeTrace>, true);
     }},
    {".sqlite", "file of Highwater's tables", "tables of steps, waits, memory, findings, …",
     &isSqliteTables, &writeSqlite},
    {".csv", "table of Highwater", "one of these tables, by --table", &isCsv, &writeCsv},
    {"/", "folder", "a folder with each table as CSV", nullptr, &writeCsvFolder},
};

/// By the ending of a name that has more than that.
const Kind* kindOf(const std::string& name) {
  const std::string lower = QString::fromStdString(name).toLower().toStdString();
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& each) {
        const std::size_t rest = lower.size() - std::min(lower.size(), each.ending.size());
        return rest > 0 && lower[rest - 1] != '/' && lower.ends_with(each.ending);
      });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace

bool isDataFile(const std::string& name) {
  return kindOf(name) != nullptr;
}

bool isTableFile(const std::string& name) {
  const Kind* const kind = kindOf(name);
  return kind && kind->write == &writeCsv;
}

std::string dataFileKinds() {
  std::string kinds;
  for (const Kind& each : kKinds) {
    kinds += (kinds.empty() ? "" : ", ") + std::string(each.ending) + " (" + each.text + ')';
  }
  return kinds;
}

int runDataExport(const DataExportOptions& options) {
  ignoreFileSizeSignal();
  const Kind& kind = *kindOf(options.file);
  if (kind.isOfKind) {
    if (auto replaced = run::checkReplaced(options.file, options.force, kind.noun, kind.isOfKind);
        !replaced) {
      return failWith(replaced.error());
    }
  }
  const auto outcome = kind.write(options);
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

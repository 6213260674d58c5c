#include "report/data_files.h"

#include <QString>
#include <algorithm>
#include <iterator>
#include <string>

namespace highwater::report {
namespace {

constexpr DataFileKind kDataFileKinds[] = {
    {DataFile::kPerfettoTrace, ".pftrace", "trace of Highwater", "a trace in Perfetto's own format",
     "Trace for Perfetto"},
    {DataFile::kChromeTrace, ".json", "trace", "a trace in Chrome's, as torch.profiler writes",
     "Trace in Chrome's format"},
    {DataFile::kCompressedTrace, ".json.gz", "compressed trace", "the same, compressed",
     "Trace in Chrome's format, compressed"},
    {DataFile::kSqlite, ".sqlite", "file of Highwater's tables",
     "tables of steps, waits, memory, findings, …", "All tables, in a SQLite file"},
    {DataFile::kCsv, ".csv", "table of Highwater", "one of these tables, by --table",
     "Table of steps as CSV"},
    {DataFile::kCsvFolder, "/", "folder", "a folder with each table as CSV",
     "All tables, in a folder of CSV files"},
};

}  // namespace

std::span<const DataFileKind> dataFileKinds() {
  return kDataFileKinds;
}

const DataFileKind* dataFileKindOf(std::string_view name) {
  const std::string lower =
      QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())).toLower().toStdString();
  const auto* const found = std::find_if(
      std::begin(kDataFileKinds), std::end(kDataFileKinds), [&](const DataFileKind& each) {
        const std::size_t rest = lower.size() - std::min(lower.size(), each.ending.size());
        return rest > 0 && lower[rest - 1] != '/' && lower.ends_with(each.ending);
      });
  return found == std::end(kDataFileKinds) ? nullptr : found;
}

}  // namespace highwater::report

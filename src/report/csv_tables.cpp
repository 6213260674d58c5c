#include "report/csv_tables.h"

#include <utility>

#include "core/csv_field.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

void appendCell(std::string& out, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    appendCsvField(out, *text);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    appendNumber(out, *real);
  } else if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    appendNumber(out, *whole);
  }
}

}  // namespace

void CsvTables::addTable(const RunTable& table, Write write) {
  files_[&table] = {std::move(write), head(table)};
}

bool CsvTables::wants(const RunTable& table) const {
  return files_.contains(&table);
}

void CsvTables::row(const RunTable& table, std::span<const Cell> cells) {
  File& file = files_[&table];
  for (const Cell& each : cells) {
    appendCell(file.out, each);
    file.out += ',';
  }
  appendCsvField(file.out, device_);
  file.out += "\r\n";
  if (file.out.size() < kTracePiece) return;
  file.write(file.out);
  file.out.clear();
}

void CsvTables::finish() {
  for (auto& [table, file] : files_) {
    file.write(file.out);
    file.out.clear();
  }
}

std::string CsvTables::head(const RunTable& table) {
  std::string line;
  for (const TableColumn& each : table.columns) {
    line += each.name;
    line += ',';
  }
  return line + "device\r\n";
}

}  // namespace highwater::report

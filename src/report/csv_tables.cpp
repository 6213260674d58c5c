#include "report/csv_tables.h"

#include <utility>

#include "report/report_values.h"

namespace highwater::report {
namespace {

void appendText(std::string& out, std::string_view text) {
  // https://owasp.org/www-community/attacks/CSV_Injection
  const bool isFormula =
      !text.empty() && std::string_view("=+-@").find(text[0]) != std::string_view::npos;
  if (!isFormula && text.find_first_of(",;\t\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += isFormula ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void appendCell(std::string& out, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    appendText(out, *text);
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
  appendText(file.out, device_);
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

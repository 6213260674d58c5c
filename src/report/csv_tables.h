#pragma once

#include <map>
#include <string>
#include <string_view>

#include "report/run_tables.h"
#include "report/trace_events.h"

namespace highwater::report {

/// Writes tables as CSV (RFC 4180, with a line of names), each to a file of its own. A last column
/// `device` says in each row whether the device was simulated. A text that a spreadsheet would take
/// for a formula begins with an apostrophe.
class CsvTables final : public RowSink {
 public:
  /// Adds a table. Its rows go to `write`.
  void addTable(const RunTable& table, Write write);

  void begin(std::string_view device) override { device_ = device; }
  [[nodiscard]] bool wants(const RunTable& table) const override;
  void row(const RunTable& table, std::span<const Cell> cells) override;
  /// Writes what is left. Call it once.
  void finish();

  /// The line that a file of this table begins with.
  [[nodiscard]] static std::string head(const RunTable& table);

 private:
  struct File {
    Write write;
    std::string out;
  };
  std::map<const RunTable*, File> files_;
  std::string device_;
};

}  // namespace highwater::report

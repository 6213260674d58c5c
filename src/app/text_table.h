#pragma once

#include <string>
#include <vector>

namespace highwater::app {

/// Rows of text in aligned columns. Widths are counted in code points.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns, or fewer.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// One line a row, each after `indent` blanks; two blanks between columns.
  [[nodiscard]] std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace highwater::app

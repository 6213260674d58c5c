#pragma once

#include <map>
#include <string>
#include <vector>

namespace highwater::report {

/// Collects rows of text and writes them in aligned columns. Widths are counted in code points.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// Adds a row of at most as many cells as there are columns.
  void add(std::vector<std::string> cells);
  /// Limits the cells of a column that are added later to `width` code points, at least 1: a longer
  /// one loses its middle.
  void limit(std::size_t column, std::size_t width);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// One line per row, indented by `indent` spaces, with two spaces between columns.
  [[nodiscard]] std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Align> columns_;
  std::map<std::size_t, std::size_t> limits_;  ///< width by column
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace highwater::report
